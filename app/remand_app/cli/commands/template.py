"""`remand template`: list, show, validate, publish, pause, resume."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from remand.handler import registry
from remand_app.cli.context import Cli, Group
from remand_app.cli.render.dag import Node, draw
from remand_app.cli.render.output import age, facts, table
from remand_app.cli.render.wording import command, counted, next_steps
from remand_app.cli.verb_commands import Done, Target, make_commands
from remand_app.domain.errors import HandlerNotFound
from remand_app.domain.page import Page
from remand_app.domain.template import Template, all_rule_layers, load_paths
from remand_app.engine.operate import Paused
from remand_app.engine.publish import publish as publish_templates
from remand_app.engine.rule_sets import unknown_classes
from remand_app.resources import templates
from remand_app.resources.templates import TemplateLine
from remand_app.runtime import import_handlers

GROUP = Group("template", "Check, publish and look at templates: what workflows are made from.")
TemplateName = Annotated[str, typer.Argument(metavar="TEMPLATE", help="namespace/name, or name.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="YAML files, or folders of them.")]


@GROUP.verb("list", examples=("remand template list", "remand template list --json"))
def list_(cli: Cli) -> None:
    """List the published templates, newest version of each first."""
    lines = templates.lines(cli.engine)
    cli.out.answer_page(Page.whole(lines), _listing(lines) if lines else "no templates are published")


def _listing(lines: Sequence[TemplateLine]) -> RenderableType:
    return table(
        "template", "steps", "queues", "published", "description",
        rows=[
            (
                line.template + (f" (paused by {line.paused_by})" if line.paused_by else ""),
                str(line.steps),
                ", ".join(line.queues),
                f"{age(line.published_at)} ago",
                line.description,
            )
            for line in lines
        ],
    )  # fmt: skip


@GROUP.verb(
    "show",
    exits=(4,),
    examples=("remand template show payments/order", "remand template show payments/order:1 --json"),
)
def show(
    cli: Cli,
    template: Annotated[
        str, typer.Argument(help="namespace/name, or name; :version for other than the newest.")
    ],
) -> None:
    """Draw a published template and list its steps."""
    published = cli.engine.templates.find(template)
    definition = published.template
    nodes = {step.name: Node(step.name) for step in definition.steps}
    drawn = draw(nodes, {step.name: step.depends_on for step in definition.steps}, cli.out.console.width)
    cli.out.answer(
        templates.show(cli.engine, published),
        facts(
            [
                ("template", definition.ref),
                ("published", f"{age(published.created_at)} ago, hash {published.hash[:12]}"),
                ("about", definition.description or None),
                ("identity", definition.identity),
                ("on failure", definition.on_failure),
            ]
        ),
        *([Text(), drawn] if drawn is not None else []),
        Text(),
        _steps(definition),
    )


def _steps(template: Template) -> RenderableType:
    return table(
        "step", "handler", "queue", "depends on", "timeout",
        rows=[
            (
                step.name,
                step.handler,
                step.queue,
                ", ".join(step.depends_on),
                f"{step.timeout_seconds:g} s" if step.timeout_seconds else "",
            )
            for step in template.steps
        ],
    )  # fmt: skip


@GROUP.verb(
    "validate",
    exits={2: "wrong usage, or a template has problems"},
    examples=("remand template validate orders.yaml", "remand template validate templates/ --json"),
)
def validate(cli: Cli, files: Files) -> None:
    """Check template files: every problem at once, with file and line. Needs no servers.

    Where the setting `handlers` names modules, steps whose handler is in none of them are warned of; so are
    rules that name a class which is not in its installed package.
    """
    loaded = load_paths(files)
    warnings = [*_unknown_handlers(cli, loaded), *_doubtful_rules(cli, loaded)]
    cli.out.answer(
        {"templates": [template.ref for template in loaded], "warnings": warnings},
        *(f"{template.ref}: good, {len(template.steps)} steps" for template in loaded),
        *(Text.assemble(("warning: ", "bold yellow"), warning) for warning in warnings),
    )


def _unknown_handlers(cli: Cli, templates: Sequence[Template]) -> list[str]:
    if not cli.given.handlers:
        return []
    try:
        import_handlers(cli.given.handlers)
    except HandlerNotFound as error:
        return [f"handlers were not checked: {error.message}"]
    known = registry.names()
    return [
        f"{template.ref}: step {step.name}: no handler {step.handler!r} in {', '.join(cli.given.handlers)}"
        for template in templates
        for step in template.steps
        if step.handler not in known
    ]


def _doubtful_rules(cli: Cli, templates: Sequence[Template]) -> Iterator[str]:
    for template in templates:
        layers = all_rule_layers(template)
        yield from (str(unknown) for unknown in unknown_classes(layers))
        own = {rule.name for _, rules in layers for rule in rules}
        for rule in cli.given.rules:
            if rule.name in own:
                yield f"{template.ref}: rule {rule.name} is also one of the settings; give one another name"


@GROUP.verb(
    "publish",
    exits=(5,),
    examples=("remand template publish orders.yaml", "remand template publish templates/"),
)
def publish(cli: Cli, files: Files) -> None:
    """Publish templates: all, or none if one is wrong. A published version never changes."""
    published = publish_templates(cli.engine.templates, files)
    cli.out.answer_page(
        Page.whole({"template": template.ref, "is_new": is_new} for template, is_new in published),
        *(
            f"{template.ref}: {'published' if is_new else 'is published already'}"
            for template, is_new in published
        ),
        next_steps(command("remand submit", published[0][0].ref))
        if published
        else "no templates in these files",
    )


def _find(_: Cli, template: str) -> Target:
    return Target((template,))


def _answer(cli: Cli, did: Done) -> None:
    paused: Paused = did.value
    template, workflows = f"{paused.namespace}/{paused.name}", counted(paused.workflows, "workflow")
    if did.verb.name == "resume":
        state = "goes on" if paused.changed else "was not paused"
        cli.out.answer(paused, f"template {template} {state}: {workflows} let go")
        return
    state = "is paused" if paused.changed else "was paused already"
    then = next_steps(command("remand template resume", template))
    cli.out.answer(paused, f"template {template} {state}: {workflows} held", then)


make_commands(GROUP, "template", takes=[("template", TemplateName)], find=_find, answer=_answer)
