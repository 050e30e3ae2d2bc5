"""Own notices to people outside: their kinds, the content of one, how several become one message.

Pure. A notice holds ids, names and figures, never an input, a result or the message of an exception.
Source: D2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from uuid import UUID


class NotificationKind(StrEnum):
    """What a notice is about."""

    WORKFLOW_STALE_SOON = "workflow_stale_soon"
    WORKFLOW_STALE = "workflow_stale"
    DEAD_LETTER_OPENED = "dead_letter_opened"
    GROUP_OPENED = "group_opened"
    GROUP_GREW = "group_grew"
    GROUP_REOPENED = "group_reopened"
    BREAKER_OPENED = "breaker_opened"
    REDRIVE_STOPPED = "redrive_stopped"
    SWEEP_FAILING = "sweep_failing"
    PARTITION_MISSING = "partition_missing"


DEFAULT_KINDS: Final = tuple(
    kind for kind in NotificationKind if kind is not NotificationKind.DEAD_LETTER_OPENED
)
"""What a target is told that does not say: of every cause, but not of every letter of it."""


@dataclass(frozen=True, slots=True)
class Notice:
    """An event that people outside should know of."""

    kind: NotificationKind
    subject_id: UUID | str
    """Id or name of what it is about: workflow, dead letter, group, redrive; breaker, sweep, partition."""
    title: str
    """One line for a person, without anything that users' code or input has written."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """JSON values that programs look at: ids, names, counts, instants in ISO 8601."""
    occurrence: str = ""
    """Tells one time from the next, if the same can happen to the subject again; told once each."""


class DeliveryState(StrEnum):
    """What became of a notice on its way to one target."""

    PENDING = "pending"
    SENT = "sent"
    GIVEN_UP = "given_up"
