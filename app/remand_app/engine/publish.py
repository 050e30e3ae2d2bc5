"""Publish templates from YAML files: all of them or, when one is wrong, none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from remand_app.domain.errors import TemplateInvalid
from remand_app.domain.template import Template, all_rule_layers, load_paths
from remand_app.engine.rule_sets import warn_of_unknown_classes
from remand_app.store.templates import Templates
from remand_app.telemetry import log


def publish(
    templates: Templates, paths: Iterable[Path | str], *, replaces: bool = False
) -> list[tuple[Template, bool]]:
    """Publish every template found in files and folders; return each with whether it is new.

    `replaces`: the content of a published version may change, see `Templates.publish`; for development.

    A new one whose rules name classes that are unknown here is warned of. Transaction: one a template.
    Idempotent: by content.

    Raises:
        TemplateInvalid: with every problem of every file; nothing was published.
        TemplateChanged: a published version has another content.
    """
    loaded = load_paths(paths)
    problems = [problem for template in loaded for problem in templates.problems(template)]
    if problems:
        raise TemplateInvalid(problems)
    published = []
    for template in loaded:
        is_new = templates.publish(template, replaces=replaces)
        published.append((template, is_new))
        if is_new:
            warn_of_unknown_classes(all_rule_layers(template))
            log(
                "template.stored",
                namespace=template.namespace,
                template=template.name,
                version=template.version,
            )
    return published
