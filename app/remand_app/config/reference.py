"""Show settings to people: the tables of the documentation, and the current values without passwords."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeGuard, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from remand.redact import redact_text
from remand_app.config.notify import NotifyTarget
from remand_app.config.settings import URLS, Settings
from remand_app.config.sources import Key, variable_of
from remand_app.domain.addresses import shown
from remand_app.domain.breaker import DEFAULT_BREAKER
from remand_app.domain.retry import DEFAULT_RETRY
from remand_app.domain.user_rules import RuleSpec


def _is_model(kind: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


TABLES: dict[str, type[BaseModel]] = {
    name: field.annotation for name, field in Settings.model_fields.items() if _is_model(field.annotation)
}
"""The settings that are tables of further keys."""
_DEFAULTS: dict[str, object] = {"retry": DEFAULT_RETRY, "breaker": DEFAULT_BREAKER}
"""The default shown for tables whose keys may each be left out to use the product's defaults."""


def masked(settings: Settings) -> dict[str, object]:
    """Return the settings as JSON-like values, URLs without their passwords; for `remand config show`."""
    values: dict[str, object] = settings.model_dump(mode="json", exclude={*TABLES, "breakers", "rules"})
    for table in TABLES:
        values[table] = getattr(settings, table).model_dump(mode="json", exclude_none=True)
    values["breakers"] = {
        name: breaker.model_dump(mode="json", exclude_none=True)
        for name, breaker in settings.breakers.items()
    }
    values["rules"] = [rule.model_dump(mode="json", exclude_unset=True) for rule in settings.rules]
    return {name: _masked(name, value) if isinstance(value, str) else value for name, value in values.items()}


def _masked(name: str, value: str) -> str:
    return shown(value) if name in URLS else redact_text(value)


def settings_reference() -> str:
    """Return the Markdown table of every key: variable, default, bounds, meaning with unit."""
    head = "| key | environment variable | default | allowed | meaning |\n|---|---|---|---|---|\n"
    return head + "".join(f"{row}\n" for row in _rows())


def rules_reference() -> str:
    """Return the Markdown table of the keys of a rule: default, bounds, meaning with unit."""
    return _keys_of(RuleSpec)


def targets_reference() -> str:
    """Return the Markdown table of the keys of a target of notices: default, bounds, meaning with unit."""
    return _keys_of(NotifyTarget)


def _keys_of(model: type[BaseModel]) -> str:
    head = "| key | default | allowed | meaning |\n|---|---|---|---|\n"
    rows = [
        (name, "required" if field.is_required() else shown_default(field.get_default()), allowed(field))
        for name, field in model.model_fields.items()
    ]
    return head + "".join(
        f"| `{name}` | {default} | {allowed} | {model.model_fields[name].description} |\n"
        for name, default, allowed in rows
    )


def _rows() -> Iterator[str]:
    for name, field in Settings.model_fields.items():
        if name not in TABLES:
            yield _row((name,), shown_default(field.get_default()), allowed(field), field.description or "")
    for name, model in TABLES.items():
        yield from _table_rows(model, (name,), _DEFAULTS.get(name) or model())


def _table_rows(model: type[BaseModel], table: Key, defaults: object) -> Iterator[str]:
    for name, field in model.model_fields.items():
        default = getattr(defaults, name)
        # A list of tables, as `[[notify.targets]]`, has a table of its own in the reference.
        inside = () if get_origin(field.annotation) is tuple else get_args(field.annotation)
        inner = next((kind for kind in inside if _is_model(kind)), None)
        if inner is not None:
            yield from _table_rows(inner, (*table, name), default)
        else:
            meaning = field.description or _RETRY_MEANING[(*table, name)[1:]]
            yield _row((*table, name), shown_default(default), allowed(field), meaning)


_RETRY_MEANING: dict[Key, str] = {
    ("max_attempts",): "Executions of a step in all, the first included; lost attempts do not count.",
    (
        "retryable",
    ): "Whether a failed step is run again at all; `connection_only`: only where nothing can have been "
    "sent, as when a connection is refused.",
    ("lost_attempts",): "How often a step may be lost with its worker before it is dead-lettered as poison.",
    (
        "retry_for_seconds",
    ): "No retry is planned for later than this many seconds after the first failure in a row.",
    ("jitter",): "Share of a delay, 0 to 1, by which it is spread at random to both sides; or `none`, `full` "
    "(from 0 to the delay), `equal` (from half of it to the delay).",
    (
        "max_retry_after_seconds",
    ): "Longest Retry-After, in seconds, that is waited for; beyond it: dead letter.",
    ("exponential", "base_seconds"): "Seconds before the first retry.",
    ("exponential", "factor"): "What each further delay is multiplied by.",
    ("exponential", "cap_seconds"): "Longest delay, in seconds.",
    ("linear", "step_seconds"): "Seconds that each failure adds to the delay.",
    ("linear", "cap_seconds"): "Longest delay, in seconds.",
    ("immediate", "delay_seconds"): "Seconds before every retry.",
    ("fixed", "delay_seconds"): "Seconds before every retry.",
    ("fibonacci", "base_seconds"): "Seconds before the first and the second retry.",
    ("fibonacci", "cap_seconds"): "Longest delay, in seconds.",
    ("policies",): "Category → policy, where it differs from the classifier's.",
}


def _row(key: Key, default: str, allowed: str, meaning: str) -> str:
    return f"| `{'.'.join(key)}` | `{variable_of(key)}` | {default} | {allowed} | {meaning} |"


def shown_default(value: object) -> str:
    """Return a default as Markdown."""
    match value:
        case None:
            return "unset"
        case "":
            return "none"
        case bool():
            return f"`{str(value).lower()}`"
        case float():
            return f"`{value:g}`" if value < 1e6 else f"`{value:.0f}`"
        case frozenset():
            return ", ".join(f"`{part}`" for part in sorted(value))
        case tuple():
            return ", ".join(f"`{part}`" for part in value) or "none"
        case int() | str() | Path():
            return f"`{value}`"
        case _:
            return "none"


def allowed(field: FieldInfo) -> str:
    """Return what values a key may have, as Markdown: choices or bounds."""
    choices = [
        kind for kind in (field.annotation, *get_args(field.annotation)) if get_origin(kind) is Literal
    ]
    if choices:
        return ", ".join(f"`{choice}`" for choice in get_args(choices[0]))
    return ", ".join(bound for limit in _limits(field) if (bound := _bound(limit)))


def _limits(field: FieldInfo) -> Iterator[Any]:
    # An optional number keeps its bounds one level down, inside `Annotated[...] | None`.
    yield from field.metadata
    for kind in get_args(field.annotation):
        for extra in getattr(kind, "__metadata__", ()):
            yield from extra.metadata if isinstance(extra, FieldInfo) else (extra,)


def _bound(limit: Any) -> str:
    match limit:
        case Gt(gt=bound):
            return f"> {bound}"
        case Ge(ge=bound):
            return f"≥ {bound}"
        case Le(le=bound):
            return f"≤ {bound}"
        case _:
            return ""
