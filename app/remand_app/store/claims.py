"""What a process claims from the run queue, how attempts of it end, and the answer to a settle."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from remand.failure import Failure


@dataclass(frozen=True, slots=True)
class Claim:
    """An attempt that this worker may run until its lease ends."""

    workflow_id: UUID
    step: str
    attempt: int
    handler: str
    timeout_seconds: float
    commit_each: bool
    input: Any
    parents: dict[str, Any] | str | None
    """Results by name; a word in their place: they are too large to come along, see `RunQueue.parents`."""
    checkpoint: Any
    lease_until: datetime
    template_id: int
    waited_seconds: float = 0.0
    """How long it had been due; later claims of the same drain have not waited."""


@dataclass(frozen=True, slots=True)
class Head:
    """A claimed attempt of which nothing else is read yet."""

    workflow_id: UUID
    step: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Completed:
    """A good end: the result as canonical JSON text."""

    claim: Claim
    result: str


@dataclass(frozen=True, slots=True)
class EndedBadly:
    """A bad end: the failure and the policy whose queue decides."""

    workflow_id: UUID
    step: str
    attempt: int
    worker: UUID
    outcome: str
    failure: Failure
    policy: str


@dataclass(frozen=True, slots=True)
class Settled:
    """What a settle brought."""

    claims: list[Claim] = field(default_factory=list)
    ring: list[str] = field(default_factory=list)
    counted: int = 0
    parked: int = 0
    contended: frozenset[UUID] = frozenset()
    """The workflows of these: somebody else held their rows."""
    passed: list[str] = field(default_factory=list)
    """Dependencies whose breaker had let results through, each once for every such result."""
