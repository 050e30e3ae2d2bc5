"""Dead queues: make, change and delete them. Source: C5.

A dead queue holds letters; steps never run in it. No name is used for both, so letters cannot go in circles.
This is checked when a dead queue is made, when a queue is pointed to one, and when a template is published.
"""

from __future__ import annotations

import re

from remand_app.domain.dead_letters import DEFAULT_QUEUE
from remand_app.domain.errors import (
    DeadQueueChained,
    DeadQueueInUse,
    DeadQueueNotFound,
    InputInvalid,
    NameTaken,
)
from remand_app.domain.queues import BUILT_IN
from remand_app.domain.template.model import NAME_PATTERN, RESERVED_QUEUES
from remand_app.domain.text import MAX_PROSE, check_text
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.store import audit, dead_queues
from remand_app.store.audit import Entry
from remand_app.store.database import Connection
from remand_app.store.dead_queues import DeadQueue
from remand_app.telemetry import log

_MOST = 100_000_000


def list_dead_queues(engine: Engine) -> list[DeadQueue]:
    """Return the dead queues by name. Transaction: own."""
    return dead_queues.listed(engine.database)


def get_dead_queue(engine: Engine, name: str) -> DeadQueue:
    """Return a dead queue. Transaction: own.

    Raises:
        DeadQueueNotFound: there is none of that name.
    """
    known = dead_queues.listed(engine.database, name)
    if not known:
        raise not_found(name)
    return known[0]


def create_dead_queue(
    engine: Engine, name: str, who: Who, *, description: str = "", size_limit: int | None = None
) -> DeadQueue:
    """Make a dead queue. Transaction: own.

    Raises:
        InputInvalid: the name or the limit will not do.
        NameTaken: there is one of that name.
        DeadQueueChained: steps run in a queue of that name, or it has a dead queue itself.
    """
    check_name(name)
    check_text(description, "description", longest=MAX_PROSE)
    _check_limit(size_limit)
    with engine.database.begin() as connection:
        dead_queues.lock(connection)
        if dead_queues.exists(connection, name):
            raise NameTaken(f"there is a dead queue {name!r} already", details={"dead_queue": name})
        if name in BUILT_IN or dead_queues.step_queues_among(connection, [name]):
            raise chained(f"{name!r} is a queue in which steps run: letters cannot lie in it", name)
        beyond = dead_queues.setting_of(connection, name)
        if beyond is not None:
            raise chained(f"queue {name!r} has a dead queue itself, {beyond!r}", name)
        now = engine.now(connection)
        dead_queues.create(
            connection, name, description=description, size_limit=size_limit, by=who.by, now=now
        )
        after = {"description": description, "size_limit": size_limit}
        _record(engine, connection, who, Entry("dead_queue.create", "dead_queue", name, after=after))
    _log(name, "create", who)
    return get_dead_queue(engine, name)


def change_dead_queue(
    engine: Engine, name: str, who: Who, *, description: str | None = None, size_limit: int | None = None
) -> DeadQueue:
    """Change the description or the size limit of a dead queue; None: unchanged. Transaction: own.

    Raises:
        InputInvalid: the limit will not do.
        DeadQueueNotFound: there is none of that name.
    """
    check_text(description or "", "description", longest=MAX_PROSE)
    _check_limit(size_limit)
    wanted = {"description": description, "size_limit": size_limit}
    after = {key: value for key, value in wanted.items() if value is not None}
    with engine.database.begin() as connection:
        known = dead_queues.locked(connection, name)
        if known is None:
            raise not_found(name)
        if after:
            dead_queues.change(connection, name, **after)
            before = {"description": known[0], "size_limit": known[1]}
            entry = Entry("dead_queue.change", "dead_queue", name, before=before, after={**before, **after})
            _record(engine, connection, who, entry)
    if after:
        _log(name, "change", who)
    return get_dead_queue(engine, name)


def delete_dead_queue(engine: Engine, name: str, who: Who, *, move_to: str | None = None) -> int:
    """Delete a dead queue; with `move_to`, its letters and the queues that point to it are moved there first.

    Return how many letters were moved. Transaction: own.

    Raises:
        DeadQueueNotFound: there is none of either name.
        DeadQueueInUse: it holds letters, queues point to it, the newest version of a template names it, or it
            is the default one.
    """
    with engine.database.begin() as connection:
        dead_queues.lock(connection)
        if dead_queues.locked(connection, name) is None:
            raise not_found(name)
        if name == DEFAULT_QUEUE:
            raise DeadQueueInUse(f"{name!r} takes the letters of everybody who names no other: it stays")
        named = dead_queues.naming_templates(connection, name)
        if named:
            raise _in_use(name, f"{', '.join(named)} names it", "publish a version that does not")
        moved = 0
        if move_to is None:
            _refuse_used(connection, name)
        else:
            moved = _move(connection, name, move_to)
        dead_queues.delete(connection, name)
        after = {"moved_to": move_to, "letters": moved}
        _record(engine, connection, who, Entry("dead_queue.delete", "dead_queue", name, after=after))
    _log(name, "delete", who)
    return moved


def _refuse_used(connection: Connection, name: str) -> None:
    letters = dead_queues.held_letters(connection, name)
    if letters:
        raise _in_use(name, f"{letters} letters lie in it", "move them: --move-to ANOTHER")
    pointing = dead_queues.pointing_queues(connection, name)
    if pointing:
        raise _in_use(
            name, f"queue {', '.join(pointing)} points to it", "point it elsewhere, or --move-to ANOTHER"
        )


def _move(connection: Connection, name: str, move_to: str) -> int:
    if move_to == name:
        raise InputInvalid(f"letters of dead queue {name!r} cannot be moved to itself")
    if not dead_queues.exists(connection, move_to):
        raise not_found(move_to)
    return dead_queues.move_letters(connection, name, move_to)


def check_name(name: str) -> None:
    """Raise InputInvalid if no queue can have that name."""
    if not re.fullmatch(NAME_PATTERN, name) or name.lower().startswith(RESERVED_QUEUES):
        raise InputInvalid(
            f"{name!r} will not do as the name of a queue",
            hint="letters, digits, '.', '_' and '-', at most 63; not beginning with 'retry.' or 'remand.'",
        )


def _check_limit(size_limit: int | None) -> None:
    if size_limit is not None and not 1 <= size_limit <= _MOST:
        raise InputInvalid(f"a dead queue is meant to hold 1 to {_MOST:,} letters, not {size_limit:,}")


def _record(engine: Engine, connection: Connection, who: Who, entry: Entry) -> None:
    now = engine.now(connection)
    audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)


def _log(name: str, verb: str, who: Who) -> None:
    log("dead_queue.changed", dead_queue=name, verb=verb, by=who.by, reason=who.reason)


def not_found(name: str) -> DeadQueueNotFound:
    """Return the error for a dead queue that does not exist."""
    return DeadQueueNotFound(
        f"there is no dead queue {name!r}",
        hint="see `remand dlq queue list`; make one with `remand dlq queue create`",
        details={"dead_queue": name},
    )


def chained(message: str, name: str) -> DeadQueueChained:
    """Return the error that says why letters could go in circles."""
    return DeadQueueChained(message, hint="a dead queue takes another name", details={"queue": name})


def _in_use(name: str, why: str, hint: str) -> DeadQueueInUse:
    return DeadQueueInUse(f"dead queue {name!r} cannot go: {why}", hint=hint, details={"dead_queue": name})
