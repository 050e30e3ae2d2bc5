"""Templates, as every door shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from remand_app.domain.template import Template, to_definition
from remand_app.engine.engine import Engine
from remand_app.resources.values import fields_of
from remand_app.store.pauses import TemplatePause, paused_templates
from remand_app.store.templates import PublishedTemplate

__all__ = ["PublishedTemplate", "TemplateLine", "TemplatePause", "TemplateShown", "lines", "pauses", "show"]


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """A published template as lists show it."""

    template: str
    """namespace/name:version"""
    hash: str
    published_at: datetime
    steps: int
    queues: list[str]
    description: str
    paused_by: str | None
    """Who paused all versions of it; null: nobody."""


@dataclass(frozen=True, slots=True)
class TemplateShown(TemplateLine):
    """A published template with its definition."""

    definition: dict[str, Any]


def lines(engine: Engine, published: Iterable[PublishedTemplate] | None = None) -> list[TemplateLine]:
    """Return templates as lists show them; None: all, newest version of each first. Transaction: own."""
    paused = pauses(engine)
    listed = engine.templates.listed() if published is None else published
    return [_line(template, paused) for template in listed]


def show(engine: Engine, published: PublishedTemplate) -> TemplateShown:
    """Return a template with its definition. Transaction: own."""
    [line] = lines(engine, [published])
    return TemplateShown(**fields_of(line), definition=to_definition(published.template))


def pauses(engine: Engine) -> dict[tuple[str, str], TemplatePause]:
    """Return the paused templates, by namespace and name. Transaction: own."""
    return {(pause.namespace, pause.name): pause for pause in paused_templates(engine.database)}


def queues_of(templates: Iterable[Template]) -> list[str]:
    """Return the step queues that templates name, sorted."""
    return sorted({step.queue for template in templates for step in template.steps})


def _line(published: PublishedTemplate, paused: dict[tuple[str, str], TemplatePause]) -> TemplateLine:
    template = published.template
    pause = paused.get((template.namespace, template.name))
    return TemplateLine(
        template.ref,
        published.hash,
        published.created_at,
        len(template.steps),
        queues_of([template]),
        template.description,
        pause.by if pause else None,
    )
