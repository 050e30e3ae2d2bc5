"""Own the shape of a template: what keys there are, their types and bounds, their defaults.

Rules between keys (graph, schema) are in `checks`; how text becomes a template is in `load`.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from remand.rules.user import UserRule
from remand_app.domain.archive import ArchiveOverrides
from remand_app.domain.dead_letters import AutoRequeueOverrides, Strategy
from remand_app.domain.jsonvalue import canonical_json
from remand_app.domain.queues import STEPS
from remand_app.domain.retry import RetryOverrides, Seconds
from remand_app.domain.staleness import LifecycleOverrides
from remand_app.domain.user_rules import MAX_RULES, RuleSpec

MAX_STEPS: Final = 10_000
MAX_STEP_INPUT_BYTES: Final = 65_536
"""Every workflow carries a copy of it."""
DEFAULT_PRIORITY: Final = 5
RESERVED_QUEUES: Final = ("retry.", "remand.")
NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
VERSION_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.+-]{0,31}$"
HANDLER_PATTERN: Final = r"^[^\s\x00-\x1f\x7f]{1,200}$"

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Version = Annotated[str, Field(pattern=VERSION_PATTERN)]
HandlerName = Annotated[str, Field(pattern=HANDLER_PATTERN)]
Priority = Annotated[int, Field(ge=0, le=9)]
Timeout = Annotated[Seconds, Field(gt=0)]
Rules = Annotated[tuple[RuleSpec, ...], Field(max_length=MAX_RULES)]


# Stored whole: nulls in a schema or an input mean something.
_VERBATIM: Final[Any] = {"input_schema": True, "steps": {"__all__": {"result_schema", "input"}}}


class StepSpec(BaseModel):
    """Describe one step: what runs, after what, where, and how it is tried again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    handler: HandlerName
    depends_on: tuple[str, ...] = ()
    after: Literal["success", "failure", "always"] = "success"
    """Which end of its parents it follows: all went well, one failed, or any.

    `failure` and `always` wait until each parent has ended or cannot run; where none failed, `failure` is
    skipped.
    """
    queue: Name = STEPS
    dependency: HandlerName | None = None
    """What the step calls and whose circuit breaker it minds; None means its handler."""
    priority: Priority | None = None
    """0 (last) to 9 (first); None means the template's."""
    timeout_seconds: Timeout | None = None
    """Of one attempt; None means the setting `default_step_timeout_seconds`."""
    input: Any = None
    """JSON that the handler finds as its input, in place of the workflow's; left out: the workflow's."""
    retry: RetryOverrides = RetryOverrides()
    rules: Rules = ()
    """What the classifier asks first for a failure of this step; see `remand.rules.user`."""
    commit: Literal["batch", "each"] = "batch"
    """`each` makes the result durable before the worker takes the next step; `batch` within milliseconds."""

    result_schema: dict[str, Any] | None = None
    """JSON Schema, draft 2020-12, that a result given by hand has to meet; None accepts any JSON."""

    @property
    def has_input(self) -> bool:
        """Return whether the template gives the step an input of its own, which may be null."""
        return "input" in self.model_fields_set

    @property
    def watched(self) -> str:
        """Return the name of the breaker that the step minds."""
        return self.dependency or self.handler


class DeadLetterSpec(BaseModel):
    """Say what becomes of the template's dead letters; None means the setting of that name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queue: Name | None = None
    """The dead queue they lie in; None means that of the failed step's queue."""
    strategy: Strategy | None = None
    auto_requeue: AutoRequeueOverrides = AutoRequeueOverrides()


class Template(BaseModel):
    """Describe a workflow: its steps, its input, and what makes two submits the same."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    namespace: Name
    name: Name
    version: Version
    description: str = ""
    input_schema: dict[str, Any] | None = None
    """JSON Schema, draft 2020-12; None accepts any JSON."""
    identity: Literal["strict", "caller_provided", "always_unique"] = "always_unique"
    on_failure: Literal["finish_branches", "fail_fast"] = "finish_branches"
    priority: Priority = DEFAULT_PRIORITY
    retry: RetryOverrides = RetryOverrides()
    rules: Rules = ()
    """What the classifier asks after a step's own rules."""
    dead_letters: DeadLetterSpec = DeadLetterSpec()
    archive: ArchiveOverrides = ArchiveOverrides()
    """What becomes of its workflows by how they ended; None means the setting of that name."""
    expire_after_seconds: Timeout | None = None
    """Age at which a workflow that has not ended becomes a dead letter; None means never."""
    lifecycle: LifecycleOverrides = LifecycleOverrides()
    """How long its workflows may show no sign of life; None means the setting in `[staleness]`."""
    steps: Annotated[tuple[StepSpec, ...], Field(min_length=1, max_length=MAX_STEPS)]

    @property
    def conditional_queues(self) -> set[str]:
        """Return the queues of steps that may run because another failed."""
        return {step.queue for step in self.steps if step.after != "success"}

    @property
    def ref(self) -> str:
        """Return the full name, `namespace/name:version`."""
        return f"{self.namespace}/{self.name}:{self.version}"

    def step(self, name: str) -> StepSpec | None:
        """Return a step, None when there is none of that name."""
        return self._steps_by_name.get(name)

    @cached_property
    def _steps_by_name(self) -> dict[str, StepSpec]:
        return {step.name: step for step in self.steps}

    def rule_layers(self, step: StepSpec | None = None) -> list[tuple[str, list[UserRule]]]:
        """Return the rules for a step, or the template's alone, by place; what is asked first is first."""
        own = [] if step is None else self.own_rules(step)
        return [*own, *_layers(f"template {self.ref}", self.rules)]

    def own_rules(self, step: StepSpec) -> list[tuple[str, list[UserRule]]]:
        """Return the rules of a step alone, with their place; nothing if it has none."""
        return _layers(f"step {step.name} of {self.ref}", step.rules)


def all_rule_layers(template: Template) -> list[tuple[str, list[UserRule]]]:
    """Return every rule of a template and of its steps, by place."""
    return [
        *template.rule_layers(),
        *(layer for step in template.steps for layer in template.own_rules(step)),
    ]


def _layers(place: str, rules: tuple[RuleSpec, ...]) -> list[tuple[str, list[UserRule]]]:
    return [(place, [rule.to_rule(place) for rule in rules])] if rules else []


def to_definition(template: Template) -> dict[str, Any]:
    """Return what was set, as JSON types; defaults are left out so that they stay the reader's."""
    definition = template.model_dump(mode="json", exclude_unset=True, exclude=_VERBATIM)
    definition = _without_nulls(definition)
    if template.input_schema is not None:
        definition["input_schema"] = template.input_schema
    for step, written in zip(template.steps, definition["steps"], strict=True):
        if step.result_schema is not None:
            written["result_schema"] = step.result_schema
        if step.has_input:
            written["input"] = step.input
    return definition


def content_hash(template: Template) -> str:
    """Return the SHA-256 (hex) of the definition; layout, comments and order of keys do not matter."""
    return hashlib.sha256(canonical_json(to_definition(template), what="template").encode()).hexdigest()


def _without_nulls(definition: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in definition.items() if value is not None}
    for key, value in kept.items():
        if isinstance(value, dict):
            kept[key] = _without_nulls(value)
        elif key in {"steps", "rules"}:
            kept[key] = [_without_nulls(item) for item in value]
    return kept
