"""Verbs of people on a breaker: open it, close it, reset it. Each is recorded in the audit log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from remand_app.domain import breaker as rules
from remand_app.domain.breaker import Breaker, Move
from remand_app.engine.breaker_moves import iso, log_move, notify_opened
from remand_app.engine.breakers import Breakers, show_breaker
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.store import audit
from remand_app.store import breakers as store
from remand_app.store.audit import Entry


def open_breaker(
    engine: Engine,
    name: str,
    *,
    by: str,
    reason: str | None = None,
    seconds: float | None = None,
    via: str = "cli",
) -> Move:
    """Open a breaker by hand: no step of the dependency is claimed until it is closed or `seconds` are over.

    Transaction: own.
    """
    return _by_hand(
        engine,
        name,
        Who(by, reason, via),
        "breaker.open",
        lambda known, now: rules.by_hand_open(known, seconds=seconds, reason=reason, now=now),
    )


def close_breaker(engine: Engine, name: str, *, by: str, reason: str | None = None, via: str = "cli") -> Move:
    """Close a breaker by hand: the steps it held are released at its rate. Transaction: own.

    Raises:
        BreakerNotFound: it has never moved, so there is nothing to close.
    """
    show_breaker(engine, name)
    return _by_hand(
        engine,
        name,
        Who(by, reason, via),
        "breaker.close",
        lambda known, now: rules.by_hand_close(known, reason=reason, now=now),
    )


def reset_breaker(engine: Engine, name: str, *, by: str, reason: str | None = None, via: str = "cli") -> Move:
    """Close a breaker, forget its counts, release its steps at once. Transaction: own, and the sweep's.

    Raises:
        BreakerNotFound: it has never moved, so there is nothing to reset.
    """
    show_breaker(engine, name)
    return _by_hand(
        engine,
        name,
        Who(by, reason, via),
        "breaker.reset",
        lambda known, now: rules.by_hand_reset(known, reason=reason, now=now),
    )


def _by_hand(
    engine: Engine,
    name: str,
    who: Who,
    verb: str,
    decide: Callable[[Breaker | None, datetime], Move],
) -> Move:
    while True:
        with engine.database.begin() as connection:
            known = store.lock(connection, name)
            now = engine.now(connection)
            move = decide(known, now)
            # A breaker without a row cannot be locked: it may have moved for the first time meanwhile.
            if store.move(connection, name, move, by=who.by, now=now):
                before, after = {"state": str(move.from_state)}, {"state": str(move.to_state)}
                entry = Entry(
                    verb, "breaker", name, before=before, after={**after, "probe_at": iso(move.probe_at)}
                )
                audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)
                notify_opened(engine, connection, name, move, by=who.by, now=now)
                break
    log_move(name, move, who.by)
    Breakers(engine).sweep(engine.bell)
    return move
