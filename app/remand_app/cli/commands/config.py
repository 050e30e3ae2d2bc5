"""`remand config`: show, check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from remand_app.cli.checks import check_rules, check_servers, check_settings
from remand_app.cli.context import Cli, Group
from remand_app.cli.render.check_report import show as show_findings
from remand_app.cli.render.output import table
from remand_app.config import load_settings_with_origins, masked

GROUP = Group("config", "Look at the settings in force, and check them against the servers.")


@GROUP.verb(
    "show",
    examples=("remand config show", "remand config show --json", "remand --config prod.toml config show"),
)
def show(cli: Cli) -> None:
    """Show every setting with its value and where that comes from; passwords are masked."""
    settings, origins = load_settings_with_origins(cli.config)
    values = dict(_flat(masked(settings)))
    cli.out.answer(
        {"settings": masked(settings), "origins": origins},
        table(
            "setting", "value", "from",
            rows=[(name, _text(value), origins.get(name, "default")) for name, value in values.items()],
        ),
    )  # fmt: skip


def _flat(values: Mapping[str, object], table: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{table}{name}.")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            yield from _flat({str(index): item for index, item in enumerate(value)}, f"{table}{name}.")
        else:
            yield f"{table}{name}", value


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


@GROUP.verb(
    "check",
    exits={3: "something is not fit; each line says what to do"},
    examples=("remand config check", "remand config check --json"),
)
def check(cli: Cli) -> None:
    """Check settings and rules, then connect: does the database answer, its schema fit, the broker answer?"""
    findings = check_settings(cli)
    if all(finding.level == "ok" for finding in findings):
        findings += [*check_rules(cli), *check_servers(cli)]
    show_findings(cli.out, findings)
