"""The filter that selects dead letters: one value for lists, bulk verbs, the API and the dashboard.

A letter must meet every condition that is given. A filter can be written as JSON and in words, so that a
bulk verb can show, and store, exactly what was requested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from remand_app.domain.errors import InputInvalid, InstantInvalid
from remand_app.domain.filters import asked, from_json, questions
from remand_app.domain.states import CATEGORIES, DeadLetterStatus, DeadReason
from remand_app.domain.template_reference import split_reference

OPEN = (DeadLetterStatus.PENDING, DeadLetterStatus.INVESTIGATING)


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
    """What is asked for; None, or no items, asks for nothing."""

    statuses: tuple[DeadLetterStatus, ...] = asked(
        "Only these. Default: the open ones.",
        default=OPEN,
        name="status",
        label="Status",
        match="one of",
        usual="open",
        whatever="all",
    )
    """Empty: whatever status."""
    ids: tuple[UUID, ...] = asked("Exactly these.", default=(), match="one of", column="id")
    workflow_id: UUID | None = asked("Only of this workflow.", option="--workflow")
    group_id: UUID | None = asked("Only with this cause.", option="--group", metavar="GROUP")
    namespace: str | None = asked("Only of this namespace.")
    template: str | None = asked(
        "Only of this template.",
        label="Template",
        metavar="NAMESPACE/NAME[:VERSION]",
        parts=("namespace", "template", "version"),
    )
    """Name without namespace and version."""
    version: str | None = asked("Only of this version of the template.")
    step: str | None = asked("Only of this step.", label="Step")
    handler: str | None = asked("Only of this handler.")
    queue: str | None = asked("Only of steps of this queue.")
    dead_queue: str | None = asked("Only in this dead queue.")
    reasons: tuple[DeadReason, ...] = asked(
        "Only opened for this.",
        default=(),
        name="reason",
        option="--opened-for",
        label="Reason",
        match="one of",
    )
    categories: tuple[str, ...] = asked(
        "Only of this category.",
        default=(),
        name="category",
        label="Category",
        match="one of",
        choices=tuple(CATEGORIES),
    )
    error_class: str | None = asked(
        "Only of this class of errors, in full.",
        option="--error",
        label="Error class",
        example="httpx.ConnectTimeout",
        metavar="CLASS",
    )
    """Qualified, as `requests.exceptions.Timeout`."""
    claimed_by: str | None = asked("Only of this person.", label="Claimed by")
    label: str | None = asked("Only with this label.", match="contains", column="labels")
    text: str | None = asked(
        "Only with this in the error's message.",
        option="--contains",
        label="Message contains",
        match="in text",
        column="error_message",
        least=3,
        metavar="TEXT",
    )
    """Contained in the error's message, in whatever case."""
    opened_from: datetime | None = asked(
        "Only opened at this instant or later.",
        typed="Only opened since: 2h, 7d, 2026-11-27T08:00 (UTC).",
        option="--since",
        match="from",
        column="opened_at",
        metavar="WHEN",
    )
    """At that instant or later."""
    opened_before: datetime | None = asked(
        "Only opened before this instant.",
        typed="Only opened before that instant, or so long ago.",
        option="--until",
        match="before",
        column="opened_at",
        metavar="WHEN",
    )

    def __post_init__(self) -> None:
        unknown = [category for category in self.categories if category not in CATEGORIES]
        if unknown:
            raise InputInvalid(
                f"{unknown[0]!r} is no category of failures", hint=f"known are {', '.join(CATEGORIES)}"
            )

    @property
    def is_empty(self) -> bool:
        """True when nothing narrows it down: it means every letter of these statuses."""
        return not any(value for name, value in self._given() if name != "statuses")

    @classmethod
    def of_template(cls, ref: str, **more: Any) -> Self:
        """Return the filter for "name", "namespace/name" or "namespace/name:version"."""
        namespace, name, version = split_reference(ref)
        return cls(namespace=namespace or None, template=name or None, version=version or None, **more)

    def to_json(self) -> dict[str, Any]:
        """Return what was given, as JSON types; `from_json` reads it."""
        return {name: _plain(value) for name, value in self._given() if value or name == "statuses"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what `to_json` gave.

        Raises:
            InputInvalid: a key or a value is unknown.
        """
        unknown = set(data) - {question.field for question in questions(cls)}
        if unknown:
            raise InputInvalid(f"dead letters cannot be filtered by {min(unknown)!r}")
        try:
            return cls(
                **{
                    question.field: from_json(question, data[question.field])
                    for question in questions(cls)
                    if question.field in data
                }
            )
        except (InstantInvalid, ValueError, TypeError) as error:
            raise InputInvalid(f"this is no filter of dead letters: {error}") from None

    def describe(self) -> str:
        """Return it in English, as "pending or investigating letters of template order, reason expired"."""
        which = " or ".join(self.statuses) if self.statuses else "all"
        others = [_in_words(name, value) for name, value in self._given() if value and name != "statuses"]
        return ", ".join([f"{which} letters", *others])

    def _given(self) -> Iterator[tuple[str, Any]]:
        for field in fields(self):
            yield field.name, getattr(self, field.name)


_WORDS = {
    "workflow_id": "workflow",
    "group_id": "group",
    "dead_queue": "dead queue",
    "reasons": "reason",
    "categories": "category",
    "error_class": "error",
    "claimed_by": "claimed by",
    "text": "message contains",
    "opened_from": "opened since",
    "opened_before": "opened before",
}


def _in_words(name: str, value: Any) -> str:
    if name == "ids":
        return "one that is named" if len(value) == 1 else f"{len(value)} that are named"
    shown = " or ".join(value) if isinstance(value, tuple) else _plain(value)
    return f"{_WORDS.get(name, name)} {shown}"


def _plain(value: Any) -> Any:
    match value:
        case tuple():
            return [_plain(part) for part in value]
        case UUID():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case _:
            return value
