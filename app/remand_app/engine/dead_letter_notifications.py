"""Notify people outside about dead letters: a new cause, a cause that came back, a cause that grows.

Notices are enqueued in the transaction of the letters. A storm with one cause gives one notice, and one more
at 10, 100, 1 000 … open letters. Notices about single letters go only to targets that ask for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from remand_app.config import Settings
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.engine.enqueue_notifications import enqueue_many
from remand_app.store.database import Connection
from remand_app.store.groups import Cause, Reopened
from remand_app.store.notification_lists import Grown


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter that was opened, and the group it belongs to."""

    id: UUID
    workflow_id: UUID
    reason: str
    group_id: UUID
    cause: Cause
    is_first: bool
    """Whether its group had no letter before, as far as was counted."""


def tell(
    connection: Connection,
    settings: Settings,
    opened: Sequence[Letter],
    reopened: Sequence[Reopened],
    now: datetime,
) -> None:
    """Enqueue the notices that these letters require. Transaction: joins that of the letters."""
    if not settings.notify.targets or not (opened or reopened):
        return
    notices = [_new_cause(letter) for letter in opened if letter.is_first]
    notices += [_one_letter(letter) for letter in opened]
    notices += [_came_back(group) for group in reopened]
    enqueue_many(connection, settings, notices, now)


def told_of_growth(group: Grown) -> Notice:
    """Return the notice of a group that has reached another power of ten."""
    return Notice(
        NotificationKind.GROUP_GREW,
        group.id,
        f"{group.open_letters} open dead letters of {group.ref}, step {group.step}: {group.error_class}",
        {
            "template": group.ref,
            "step": group.step,
            "error": group.error_class,
            "open_letters": group.open_letters,
        },
        group.occurrence,
    )


def _new_cause(letter: Letter) -> Notice:
    cause = letter.cause
    facts = {**_of(cause), "reason": letter.reason, "dead_letter_id": str(letter.id)}
    title = f"first dead letter of a new cause in {_ref(cause)}, step {cause.step}: {cause.error_class}"
    return Notice(NotificationKind.GROUP_OPENED, letter.group_id, title, facts)


def _one_letter(letter: Letter) -> Notice:
    cause = letter.cause
    facts = {
        **_of(cause),
        "reason": letter.reason,
        "workflow_id": str(letter.workflow_id),
        "group_id": str(letter.group_id),
    }
    title = f"dead letter in {_ref(cause)}, step {cause.step}: {cause.error_class}"
    return Notice(NotificationKind.DEAD_LETTER_OPENED, letter.id, title, facts)


def _came_back(group: Reopened) -> Notice:
    cause = group.cause
    return Notice(
        NotificationKind.GROUP_REOPENED,
        group.id,
        f"a resolved cause came back in {_ref(cause)}, step {cause.step}: {cause.error_class}",
        {**_of(cause), "resolved_at": group.resolved_at.isoformat(), "resolved_by": group.resolved_by},
        occurrence=str(group.reopenings),
    )


def _of(cause: Cause) -> dict[str, str]:
    return {
        "template": _ref(cause),
        "step": cause.step,
        "error": cause.error_class,
        "category": cause.category,
    }


def _ref(cause: Cause) -> str:
    return f"{cause.namespace}/{cause.template}:{cause.version}"
