"""The rules of the classifier as a table: users' rules by place, built-in rules by family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import RenderableType
from rich.text import Text

from remand.rules import FAMILIES, POLICY_OF, Rule
from remand.rules.user import AnyRule, Layers, UserRule, place_of
from remand.stages import show as show_code
from remand_app.cli.context import Cli
from remand_app.cli.render.output import table
from remand_app.domain.page import Page

KEYS_SHOWN = 6
_CLASSES = ("type", "base", "fallback")


def show(cli: Cli, layers: Layers, family: str | None) -> None:
    """Answer with all rules, the users' first, or with those of one family."""
    known = [family.name for family in FAMILIES]
    if family is not None and family not in known:
        raise typer.BadParameter(f"there is no family {family!r}, but {', '.join(known)}")
    own = [] if family is not None else [(place, rule) for place, rules in layers for rule in rules]
    chosen = [candidate for candidate in FAMILIES if family in (None, candidate.name)]
    value = [_own_fields(place, rule) for place, rule in own]
    value += [_fields(listed.name, rule) for listed in chosen for rule in listed.rules]
    parts: list[RenderableType] = []
    if own:
        parts += [Text("your own", style="bold"), _own_table(own), Text()]
    for listed in chosen:
        parts += [Text.assemble((listed.name, "bold"), f"  {listed.about}"), _table(listed.rules), Text()]
    cli.out.answer_page(Page.whole(value), *parts)


def looks_at(rule: Rule) -> str:
    """Return what a built-in rule is looked up by, and its condition."""
    if rule.kind in _CLASSES:
        looked = {"type": "class", "base": "class, after codes", "fallback": "class, last"}[rule.kind]
    else:
        looked = {"text": "message", "flag": "flag"}.get(rule.kind, f"code: {rule.kind}")
    return (
        looked
        + (" and wait asked for" if rule.needs_retry_after else "")
        + (" and message" * (_has_text(rule)))
    )


def _has_text(rule: Rule) -> bool:
    return bool(rule.text) and rule.kind != "text"


def keys_of(rule: Rule) -> list[str]:
    """Return what a built-in rule matches, as people write it."""
    if rule.kind in _CLASSES:
        return [str(key) for key in rule.keys]
    if rule.kind == "text":
        return ["any class" if key == "*" else f"{key}.*" for key in rule.keys]
    return [show_code(rule.kind, key) for key in rule.keys]


def _fields(family: str, rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.name, "family": family, "kind": rule.kind, "keys": list(rule.keys), "text": rule.text,
        "asked": rule.needs_retry_after, "category": rule.category, "policy": rule.policy,
        "confidence": rule.confidence, "reason": rule.reason, "source": rule.source,
    }  # fmt: skip


def _own_fields(place: str, rule: AnyRule) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": rule.name, "family": None, "place": place, "errors": rule.errors, "statuses": rule.statuses,
        "codes": rule.codes, "message": rule.message, "source": rule.source,
    }  # fmt: skip
    if isinstance(rule, UserRule):
        fields |= {
            "category": rule.category, "policy": rule.policy or POLICY_OF[rule.category],
            "retry_after": rule.retry_after, "reason": rule.reason,
        }  # fmt: skip
    return fields


def _table(rules: Sequence[Rule]) -> RenderableType:
    return table(
        "rule", "looks at", "keys", "verdict", "reason", "source",
        rows=[
            (
                rule.name, looks_at(rule), _cut(keys_of(rule)), f"{rule.category}/{rule.policy}",
                rule.reason, rule.source,
            )
            for rule in rules
        ],
    )  # fmt: skip


def _cut(keys: Sequence[str]) -> str:
    left = len(keys) - KEYS_SHOWN
    return ", ".join(keys[:KEYS_SHOWN]) + (f" and {left} more" if left > 0 else "")


def _own_table(own: Iterable[tuple[str, AnyRule]]) -> RenderableType:
    return table(
        "rule", "of", "if", "verdict", "reason", "written at",
        rows=[
            (rule.name, place, _conditions(rule), *_verdict(rule), place_of(rule, place))
            for place, rule in own
        ],
    )  # fmt: skip


def _conditions(rule: AnyRule) -> str:
    asked = (*rule.errors, *(f"HTTP {status}" for status in rule.statuses), *rule.codes)
    return ", ".join((*asked, *([f"message ~ {rule.message}"] if rule.message else []))) or "any failure"


def _verdict(rule: AnyRule) -> tuple[str, str]:
    if isinstance(rule, UserRule):
        return f"{rule.category}/{rule.policy or POLICY_OF[rule.category]}", rule.reason
    return "as its function says", ""
