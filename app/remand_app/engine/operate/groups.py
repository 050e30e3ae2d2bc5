"""Verbs on a group of dead letters: claim it, set a due time, add notes, resolve it.

A group collects the discussion of one cause; its letters are repaired one by one or by a redrive. Each verb
is one transaction with an entry in the audit log. Source: C8, C15.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from remand.redact import redact_text
from remand_app.domain.errors import IllegalMove, InputInvalid
from remand_app.domain.instants import bounded
from remand_app.domain.states import GroupState
from remand_app.domain.text import MAX_PROSE, check_text
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.store import audit, dead_letters, group_counts, groups
from remand_app.store.database import Connection
from remand_app.store.group_counts import HOURS
from remand_app.store.groups import Group
from remand_app.telemetry import log

_LOOKED_AT = 10_000
_LETTERS = 10_000


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """A group as its page shows it."""

    group: Group
    trend: list[int]
    """Letters opened in each of the last 24 hours, oldest first."""
    hit_share: float | None
    """Share of the template's workflows that came into it; None: it had none. Of the last 24 hours, and of
    these the newest 10 000 of all templates."""
    statuses: dict[str, int]
    """Its newest 10 000 letters by status."""
    earlier: list[Group]
    """Groups with the same cause: other versions of the template, other steps."""


def standing(engine: Engine, group_id: UUID) -> GroupStatus:
    """Return a group with everything that its page shows, counted now. Transaction: some short ones.

    Raises:
        GroupNotFound: no group has that id.
    """
    database = engine.database
    group_counts.fold(database)
    group = groups.get_group(database, group_id)
    now = engine.instant()
    trend = group_counts.trends(database, [group_id], now)[group_id]
    since = now - timedelta(hours=HOURS)
    return GroupStatus(
        group,
        trend,
        group_counts.hit_share(database, group, since, _LOOKED_AT),
        group_counts.statuses_of(database, group_id, _LETTERS),
        groups.earlier(database, group),
    )


def claim_group(engine: Engine, group_id: UUID, who: Who) -> Group:
    """Take a group, so that nobody else does. Idempotent for the one who has it.

    Raises:
        IllegalMove: somebody else has it, or it is resolved; the message says who.
    """
    return assign_group(engine, group_id, who.by, who, verb="claim")


def assign_group(
    engine: Engine, group_id: UUID, owner: str, who: Who, *, take_over: bool = False, verb: str = "assign"
) -> Group:
    """Give a group to somebody; `take_over`: also if somebody else has it.

    Raises:
        IllegalMove: somebody else has it, or it is resolved; the message says who.
        InputInvalid: the name is empty.
    """
    check_text(owner, "owner")
    if not owner.strip():
        raise InputInvalid("a group is assigned to somebody: give a name")

    def act(group: Group, now: datetime) -> dict[str, Any]:
        _refuse_resolved(group, verb)
        if group.owner == owner:
            return {}
        if group.owner not in (None, who.by) and not take_over:
            raise IllegalMove(
                f"group {group.id} is with {group.owner} since {group.state_since:%Y-%m-%d %H:%M} UTC",
                hint="ask them, or take it over",
                details={"state": str(group.state), "owner": group.owner},
            )
        return {"owner": owner, "state": GroupState.INVESTIGATING, "state_since": now}

    return _change(engine, group_id, who, act, verb=verb)


def release_group(engine: Engine, group_id: UUID, who: Who, *, take_over: bool = False) -> Group:
    """Let go of a group. Idempotent.

    Raises:
        IllegalMove: somebody else has it and `take_over` is not given, or it is resolved.
    """

    def act(group: Group, now: datetime) -> dict[str, Any]:
        _refuse_resolved(group, "release")
        if group.owner is None:
            return {}
        if group.owner != who.by and not take_over:
            raise IllegalMove(
                f"group {group.id} is with {group.owner}, not with {who.by}",
                hint="ask them, or take it over",
                details={"state": str(group.state), "owner": group.owner},
            )
        return {"owner": None, "state": GroupState.OPEN, "state_since": now}

    return _change(engine, group_id, who, act, verb="release")


def set_due(engine: Engine, group_id: UUID, due_at: datetime | None, who: Who) -> Group:
    """Set the time by which a group should be dealt with; None: remove it. Idempotent.

    Raises:
        InstantInvalid: no calendar shows that instant.
        IllegalMove: it is resolved.
    """
    due_at = None if due_at is None else bounded(due_at)

    def act(group: Group, _now: datetime) -> dict[str, Any]:
        _refuse_resolved(group, "give a day to")
        return {} if group.due_at == due_at else {"due_at": due_at}

    return _change(engine, group_id, who, act, verb="due")


def resolve_group(engine: Engine, group_id: UUID, who: Who) -> Group:
    """Declare the cause dealt with; `who.reason` says how, and is shown if the cause comes back.

    Raises:
        InputInvalid: it is not said how.
        IllegalMove: it is resolved already, or some of its letters are open.
    """
    if not (who.reason or "").strip():
        raise InputInvalid(
            "say how the cause was dealt with: it is shown if it ever comes back", hint="--reason"
        )

    def act(group: Group, now: datetime) -> dict[str, Any]:
        _refuse_resolved(group, "resolve")
        return {
            "state": GroupState.RESOLVED,
            "state_since": now,
            "resolved_at": now,
            "resolved_by": who.by,
            "resolution": who.reason,
            "owner": None,
            "due_at": None,
        }

    return _change(engine, group_id, who, act, verb="resolve", closing=True)


def reopen_group(engine: Engine, group_id: UUID, who: Who) -> Group:
    """Open a resolved group again by hand. Idempotent."""

    def act(group: Group, now: datetime) -> dict[str, Any]:
        if group.state is not GroupState.RESOLVED:
            return {}
        return {"state": GroupState.OPEN, "state_since": now, "reopenings": group.reopenings + 1}

    return _change(engine, group_id, who, act, verb="reopen")


def note_group(engine: Engine, group_id: UUID, text: str, who: Who) -> None:
    """Add a note to a group, whatever its state; what looks like a secret in it is masked.

    Raises:
        InputInvalid: the note is empty.
        TextInvalid: it cannot be stored, or is too long.
    """
    if not text.strip():
        raise InputInvalid("a note needs text")
    check_text(text, "note", longest=MAX_PROSE)
    masked = redact_text(text.strip(), engine.settings.redact_keys)
    with engine.database.begin() as connection:
        groups.lock_group(connection, group_id)
        now = engine.now(connection)
        dead_letters.add_group_note(connection, group_id, author=who.by, text=masked, now=now)
        _record(connection, group_id, "note", who, now, after={"note": masked})
    log("group.changed", group_id=str(group_id), verb="note", by=who.by, reason=None)


_Act = Callable[[Group, datetime], dict[str, Any]]


def _change(
    engine: Engine, group_id: UUID, who: Who, act: _Act, *, verb: str, closing: bool = False
) -> Group:
    with engine.database.begin() as connection:
        group = groups.lock_group(connection, group_id)
        now = engine.now(connection)
        changed = act(group, now)
        if not changed:
            return group
        if closing:
            _refuse_open_letters(connection, group)
        groups.change_group(connection, group_id, **changed)
        before = {name: _plain(getattr(group, name)) for name in changed if name != "state_since"}
        after = {name: _plain(value) for name, value in changed.items() if name != "state_since"}
        _record(connection, group_id, verb, who, now, before=before, after=after)
        if who.reason:
            dead_letters.add_group_note(
                connection, group_id, author=who.by, text=f"{verb}: {who.reason}", now=now
            )
    log("group.changed", group_id=str(group_id), verb=verb, by=who.by, reason=who.reason)
    return groups.get_group(engine.database, group_id)


def _record(
    connection: Connection,
    group_id: UUID,
    verb: str,
    who: Who,
    now: datetime,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    entry = audit.Entry(f"group.{verb}", "group", str(group_id), None, before, after)
    audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)


def _refuse_resolved(group: Group, verb: str) -> None:
    if group.state is GroupState.RESOLVED:
        raise IllegalMove(
            f"cannot {verb} group {group.id}: {group.resolved_by} resolved it"
            f" at {group.resolved_at:%Y-%m-%d %H:%M} UTC",
            hint="reopen it first; a new letter reopens it by itself",
            details={"state": str(group.state), "resolved_by": group.resolved_by},
        )


def _refuse_open_letters(connection: Connection, group: Group) -> None:
    left = group_counts.open_letters_of(connection, group.id, _LETTERS)
    if left:
        raise IllegalMove(
            f"cannot resolve group {group.id}: {left} of its letters are open",
            hint="redrive, resolve or cancel them first",
            details={"state": str(group.state), "open_letters": left},
        )


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
