"""Publish templates from YAML files: all of them or, when one is wrong, none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from app.domain.template import Template, load_paths
from app.store.templates import Templates
from app.telemetry import log


def publish(templates: Templates, paths: Iterable[Path | str]) -> list[tuple[Template, bool]]:
    """Publish every template found in files and folders; each with whether it is new.

    Transaction: one a template. Idempotent: by content.

    Raises:
        TemplateInvalid: with every problem of every file; nothing was published.
        TemplateChanged: a published version has another content.
    """
    loaded = load_paths(paths)
    published = []
    for template in loaded:
        is_new = templates.publish(template)
        published.append((template, is_new))
        if is_new:
            log(
                "template.stored",
                namespace=template.namespace,
                template=template.name,
                version=template.version,
            )
    return published
