"""Write the page of templates from their model: every key with type, default, bounds, meaning and an example.

What a key means and how it is written is told here; a test holds this to the model, and tries each example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType, NoneType
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin

from annotated_types import MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from remand_app.config.reference import allowed, shown_default
from remand_app.domain.archive import ArchiveOverrides
from remand_app.domain.dead_letters import AutoRequeueOverrides
from remand_app.domain.retry import (
    ExponentialOverrides,
    FibonacciOverrides,
    FixedOverrides,
    ImmediateOverrides,
    LinearOverrides,
    RetryOverrides,
)
from remand_app.domain.staleness import LifecycleOverrides
from remand_app.domain.template.model import DeadLetterSpec, StepSpec, Template
from remand_app.domain.user_rules import RuleSpec


class Key(NamedTuple):
    """What a key means, and an example as it stands behind the key: YAML in one line."""

    meaning: str
    example: str


class Section(NamedTuple):
    """A table of the page: where its keys stand, and the model that has them."""

    title: str
    about: str
    model: type[BaseModel]
    keys: Mapping[str, Key]


_SAME = "The [setting](settings.md) of the same name holds for what is left out."
_RETRY = {
    "max_attempts": Key("Executions, the first included; lost attempts do not count.", "5"),
    "retryable": Key(
        "Whether a failed step is run again: true, false, or `connection_only`: only where nothing can "
        "have been sent, as when a connection is refused.",
        "connection_only",
    ),
    "lost_attempts": Key("How often it may be lost with its worker, then it is poison.", "2"),
    "retry_for_seconds": Key(
        "No retry is planned for later than this after the first failure in a row.", "3600"
    ),
    "jitter": Key(
        "Share of a delay, 0 to 1, by which it is spread to both sides; or `none`, `full`, `equal`.", "full"
    ),
    "max_retry_after_seconds": Key("Longest Retry-After that is waited for; beyond it: dead letter.", "7200"),
    "exponential": Key("Numbers of the policy `exponential`.", "{base_seconds: 10, factor: 3}"),
    "linear": Key("Numbers of the policy `linear`.", "{step_seconds: 60}"),
    "immediate": Key("Numbers of the policy `immediate`.", "{delay_seconds: 1}"),
    "fixed": Key("Numbers of the policy `fixed`.", "{delay_seconds: 30}"),
    "fibonacci": Key("Numbers of the policy `fibonacci`.", "{base_seconds: 5, cap_seconds: 600}"),
    "policies": Key(
        "Category → policy, where it differs from the classifier's.", "{network: fixed, resource: linear}"
    ),
}
SECTIONS: Final = (
    Section(
        "Template",
        "A file is one template, or several, divided by `---`.",
        Template,
        {
            "namespace": Key("Whose it is; the first part of its full name.", "payments"),
            "name": Key("Its name, alone in its namespace.", "order"),
            "version": Key("A published version never changes. Text: quote numbers.", '"1.2"'),
            "description": Key("For people.", "Charges a card and ships the order."),
            "input_schema": Key(
                "JSON Schema (draft 2020-12) that the input of a submit must meet.",
                "{type: object, required: [order]}",
            ),
            "identity": Key(
                "What makes two submits the same workflow: nothing; the same input of a version (`strict`);"
                " the same key, which must be given then (`caller_provided`).",
                "strict",
            ),
            "on_failure": Key(
                "When a step fails for good: other branches run on, or nothing more starts.",
                "fail_fast",
            ),
            "priority": Key("0 (last) to 9 (first), of its steps.", "7"),
            "retry": Key("How its steps are tried again; see [retry](#retry).", "{max_attempts: 5}"),
            "rules": Key(
                "What the classifier asks after a step's own rules; see [rules](#rules).",
                "[{name: till, category: resource, errors: [shop.Locked]}]",
            ),
            "dead_letters": Key("What becomes of its dead letters.", "{strategy: manual}"),
            "archive": Key("What becomes of its workflows by how they ended.", "{error: keep}"),
            "expire_after_seconds": Key(
                "Age at which a workflow that has not ended becomes a dead letter; unset: never.", "86400"
            ),
            "lifecycle": Key(
                "How long its workflows may show no sign of life.", "{max_lifetime_seconds: 604800}"
            ),
            "steps": Key("Its steps, in any order.", "[{name: charge, handler: payments.charge}]"),
        },
    ),
    Section(
        "Step",
        "An item of `steps`.",
        StepSpec,
        {
            "name": Key("Its name, alone in the template.", "charge"),
            "handler": Key("Name of the function that runs, as `@handler` gave it.", "payments.charge"),
            "depends_on": Key("Steps that end before it begins: its parents.", "[quote]"),
            "after": Key(
                "Which end of its parents it follows: all went well, one failed (or it is skipped), any.",
                "always",
            ),
            "queue": Key("The Celery queue it waits in; `retry.…` and `remand.…` are Remand's own.", "bank"),
            "dependency": Key("What it calls, and whose breaker it minds; unset: its handler.", "bank-api"),
            "priority": Key("0 (last) to 9 (first); unset: the template's.", "9"),
            "timeout_seconds": Key("Of one attempt; unset: `default_step_timeout_seconds`.", "30"),
            "input": Key(
                "JSON that its handler finds as input, in place of the workflow's; null is an input, too.",
                "{currency: EUR}",
            ),
            "retry": Key(
                "How it is tried again, over the template's; see [retry](#retry).", "{retryable: false}"
            ),
            "rules": Key(
                "What the classifier asks first for its failures; see [rules](#rules).",
                "[{name: declined, category: permanent, codes: [card_declined]}]",
            ),
            "commit": Key(
                "`each`: its result is durable before the next step is taken; else within milliseconds.",
                "each",
            ),
            "result_schema": Key(
                "JSON Schema that a result given by hand must meet; unset: any JSON.", "{type: object}"
            ),
        },
    ),
    Section("Retry", f"Keys of `retry`, of a template and of a step. {_SAME}", RetryOverrides, _RETRY),
    Section(
        "retry.exponential",
        "Waits `base_seconds`, then `factor` times as long after each failure.",
        ExponentialOverrides,
        {
            "base_seconds": Key("Before the first retry.", "10"),
            "factor": Key("What each further delay is multiplied by.", "3"),
            "cap_seconds": Key("Longest delay.", "1800"),
        },
    ),
    Section(
        "retry.linear",
        "Waits longer by the same after each failure.",
        LinearOverrides,
        {"step_seconds": Key("What each failure adds.", "60"), "cap_seconds": Key("Longest delay.", "1800")},
    ),
    Section(
        "retry.immediate",
        "Tries again at once, or almost.",
        ImmediateOverrides,
        {"delay_seconds": Key("Before every retry.", "1")},
    ),
    Section(
        "retry.fixed",
        "Waits the same after every failure.",
        FixedOverrides,
        {"delay_seconds": Key("Before every retry.", "30")},
    ),
    Section(
        "retry.fibonacci",
        "Waits 1, 1, 2, 3, 5, 8 … times as long.",
        FibonacciOverrides,
        {
            "base_seconds": Key("Before the first and the second retry.", "5"),
            "cap_seconds": Key("Longest delay.", "600"),
        },
    ),
    Section(
        "Rules",
        "An item of `rules`. One of `errors`, `statuses`, `codes` and `message` must be given; all that is"
        " given must hold.",
        RuleSpec,
        {
            "name": Key("Shown wherever the rule decides; no other rule may have it.", "till"),
            "category": Key("What such a failure is.", "resource"),
            "errors": Key("Class names with their module; subclasses match, too.", "[shop.errors.Locked]"),
            "statuses": Key("HTTP statuses: 400 to 599, or `4xx`, `5xx`.", "[409, 5xx]"),
            "codes": Key("Other codes: SQLSTATE, gRPC, errno, a vendor's own.", '["40001"]'),
            "message": Key(
                "Regular expression, searched in message and body; case does not matter.", "till is closed"
            ),
            "policy": Key("When to try again; unset: as the category has it.", "fixed"),
            "retry_after": Key("Least wait in seconds before the next attempt.", "300"),
            "reason": Key("Why, for those who read the explanation.", "the till opens at eight"),
        },
    ),
    Section(
        "dead_letters",
        f"What becomes of the template's dead letters. {_SAME}",
        DeadLetterSpec,
        {
            "queue": Key(
                "The dead queue they lie in; unset: that of the failed step's queue.", "payments-dead"
            ),
            "strategy": Key("Which failures become dead letters, and how.", "manual"),
            "auto_requeue": Key("Whether they are sent back by themselves.", "{enabled: true}"),
        },
    ),
    Section(
        "dead_letters.auto_requeue",
        f"Sending dead letters back without a person. {_SAME}",
        AutoRequeueOverrides,
        {
            "enabled": Key("Whether it is done at all.", "true"),
            "interval_seconds": Key("How long a letter lies before the first time.", "600"),
            "backoff_multiplier": Key("What each further wait is multiplied by.", "2"),
            "max_requeues": Key("How often at most.", "3"),
            "priority_boost": Key("What is added to the priority of its steps.", "1"),
        },
    ),
    Section(
        "archive",
        f"`archive` or `keep`, by how a workflow ended. {_SAME}",
        ArchiveOverrides,
        {
            "complete": Key("Those that went well.", "archive"),
            "error": Key("Those that failed for good.", "keep"),
            "cancelled": Key("Those that were cancelled.", "archive"),
            "resolved_manually": Key("Those that a person resolved.", "keep"),
        },
    ),
    Section(
        "lifecycle",
        f"How long a workflow may show no sign of life. {_SAME}",
        LifecycleOverrides,
        {
            "max_waiting_for_dependencies_seconds": Key("While it waits to begin.", "7200"),
            "max_waiting_for_retry_seconds": Key("Past the time at which a retry was due.", "3600"),
            "max_steps_in_process_seconds": Key("While steps run or wait.", "3600"),
            "max_other_seconds": Key("In any other state.", "86400"),
            "max_lifetime_seconds": Key("In all, since it was submitted or reopened.", "604800"),
            "stale_action": Key("What is done then: a dead letter, an error, or nothing.", "dlq"),
            "warning_share": Key("Share of what is allowed after which people are warned.", "0.5"),
        },
    ),
)
_ABOUT = (
    "Every key that a template may have. Another is refused, with the nearest there is. Files are YAML or"
    " JSON; [write your first](../quickstart.md), `remand template validate FILE` checks it, "
    "`remand template publish FILE` publishes it. Durations are seconds."
)
_TYPES: Final[Mapping[Any, str]] = MappingProxyType(
    {str: "text", int: "whole number", float: "number", bool: "true or false", Any: "any JSON"}
)


def template() -> str:
    """Return the page."""
    parts = [f"# Template\n\n{_ABOUT}\n"]
    for one in SECTIONS:
        rows = "\n".join(_rows(one))
        head = "| key | type | default | allowed | meaning | example |\n|---|---|---|---|---|---|"
        parts.append(f"## {one.title}\n\n{one.about}\n\n{head}\n{rows}\n")
    return "\n".join(parts)


def _rows(section: Section) -> Iterator[str]:
    for name, field in section.model.model_fields.items():
        told = section.keys[name]
        default = "required" if field.is_required() else _default(field)
        example = f"{name}: {told.example}".replace("|", "\\|")
        yield f"| `{name}` | {_type(field)} | {default} | {_bounds(field)} | {told.meaning} | `{example}` |"


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    return "none" if isinstance(default, BaseModel) or default == () else shown_default(default)


def _bounds(field: FieldInfo) -> str:
    lengths = [f"at least {one.min_length}" for one in field.metadata if isinstance(one, MinLen)]
    lengths += [f"at most {one.max_length}" for one in field.metadata if isinstance(one, MaxLen)]
    patterns = [f"`{one.pattern}`" for one in field.metadata if getattr(one, "pattern", None)]
    return ", ".join(part for part in (allowed(field), *lengths, *patterns) if part).replace("|", "\\|")


def _type(field: FieldInfo) -> str:
    return _named(field.annotation)


def _named(kind: Any) -> str:
    origin, inner = get_origin(kind), [one for one in get_args(kind) if one is not NoneType]
    if kind in _TYPES:
        return _TYPES[kind]
    if origin is tuple:
        return "list"
    if origin is dict or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return "mapping"
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, str)):
        return "text"
    return (
        " or ".join(dict.fromkeys(_named(one) for one in inner[:1] if one is not None)) if inner else "text"
    )
