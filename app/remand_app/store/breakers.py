"""Circuit breakers as rows: read, counted, moved, and what they hold in the run queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from remand_app.clock import Clock
from remand_app.domain.breaker import Breaker, Move
from remand_app.domain.states import BreakerState
from remand_app.store.database import Database

_COLUMNS = """
       breaker.name, breaker.state, breaker.state_since, breaker.openings, breaker.probe_at,
       breaker.probes_succeeded, breaker.releasing_since, breaker.release_all, breaker.released_at,
       breaker.by, breaker.reason
"""
_SIZES = """
       (select count(*)
          from remand.run_queue queued
         where queued.dependency = breaker.name
           and queued.gate = 'held'),
       (select count(*)
          from remand.run_queue queued
         where queued.dependency = breaker.name
           and queued.gate = 'passed')
"""
# Counts from before a breaker closed belong to the outage that is over.
_JUDGED = f"""
select asked.name, coalesce(sum(traffic.attempts), 0)::int, coalesce(sum(traffic.failures), 0)::int,
       {_COLUMNS}
  from unnest(cast(:names as text[]), cast(:windows as float[])) asked(name, seconds)
  left join remand.breakers breaker on breaker.name = asked.name
  left join remand.traffic traffic
    on traffic.dependency = asked.name
   and traffic.bucket > coalesce(cast(:now as timestamptz), clock_timestamp())
                        - make_interval(secs => asked.seconds)
   and (breaker.name is null or breaker.state <> 'closed' or traffic.bucket > breaker.state_since)
 group by asked.name, breaker.name
"""


@dataclass(frozen=True, slots=True)
class Judged:
    """A breaker with what was counted in its window; `breaker` None: it never moved."""

    breaker: Breaker | None
    attempts: int
    failures: int


@dataclass(frozen=True, slots=True)
class BreakerStatus:
    """A breaker with the size of what it holds and of what it let through."""

    breaker: Breaker
    held: int
    passed: int


@dataclass(frozen=True, slots=True)
class PastMove:
    """One row of a breaker's history."""

    from_state: str
    event: str
    to_state: str
    at: datetime
    by: str
    reason: str | None


def judged(
    connection: sa.Connection, windows: Mapping[str, float], now: datetime | None
) -> dict[str, Judged]:
    """Return breakers with the counts of their windows (seconds), by name. Transaction: joins; no lock."""
    rows = connection.execute(
        sa.text(_JUDGED), {"names": list(windows), "windows": list(windows.values()), "now": now}
    )
    return {row[0]: Judged(None if row[3] is None else _breaker(row[3:]), row[1], row[2]) for row in rows}


def gating_breakers(database: Database) -> list[str]:
    """Return the names of the breakers that gate their dependency. Transaction: own."""
    rows = database.call(
        """
        select name
          from remand.breakers
         where state <> 'closed'
            or releasing_since is not null
         order by name
        """
    )
    return [row[0] for row in rows]


def probing(database: Database, names: Iterable[str]) -> list[str]:
    """Return those of the names that are half-open now. Transaction: own; no lock."""
    rows = database.call(
        "select name from remand.breakers where name = any(%s) and state = 'half_open' order by name",
        (list(names),),
    )
    return [row[0] for row in rows]


def lock(connection: sa.Connection, name: str, *, wait: bool = True) -> Breaker | None:
    """Lock and return a breaker; None: it never moved, or somebody moves it and `wait` is off.

    Transaction: joins.
    """
    row = connection.execute(
        sa.text(
            f"""
            select {_COLUMNS}
              from remand.breakers breaker
             where breaker.name = :name
               for update {"" if wait else "skip locked"}
            """
        ),
        {"name": name},
    ).first()
    return None if row is None else _breaker(row)


def move(connection: sa.Connection, name: str, step: Move, *, by: str, now: datetime) -> bool:
    """Move a breaker if it is still in the state where the move begins. Transaction: joins."""
    return bool(
        connection.scalar(
            sa.text(
                """
                select remand.move_breaker(:name, :from, :event, :to, :openings, :probe_at, :releasing, :all,
                                           :by, :reason, :now)
                """
            ),
            {
                "name": name,
                "from": step.from_state,
                "event": step.event,
                "to": step.to_state,
                "openings": step.openings,
                "probe_at": step.probe_at,
                "releasing": step.releasing_since,
                "all": step.release_all,
                "by": by,
                "reason": step.reason,
                "now": now,
            },
        )
    )


def count_probes(connection: sa.Connection, name: str, succeeded: int) -> None:
    """Add to the good probes of a half-open breaker. Transaction: joins; the caller holds its row."""
    connection.execute(
        sa.text(
            """
            update remand.breakers
               set probes_succeeded = probes_succeeded + :n
             where name = :name
               and state = 'half_open'
            """
        ),
        {"name": name, "n": succeeded},
    )


def probes_out(connection: sa.Connection, name: str, queues: Sequence[str]) -> int:
    """Return how many attempts it let through that have not ended, except those waiting in other queues.

    Transaction: joins.
    """
    return int(
        connection.scalar(
            sa.text(
                """
            select count(*)
              from remand.run_queue
             where dependency = :name
               and gate = 'passed'
               and (phase <> 'ready' or queue = any(:queues))
            """
            ),
            {"name": name, "queues": list(queues)},
        )
        or 0
    )


def holds_any(connection: sa.Connection, name: str) -> bool:
    """Return whether it still holds something. Transaction: joins."""
    return bool(
        connection.scalar(
            sa.text(
                "select exists (select from remand.run_queue where dependency = :name and gate = 'held')"
            ),
            {"name": name},
        )
    )


def release_held(
    connection: sa.Connection,
    name: str,
    limit: int,
    *,
    by: str,
    now: datetime,
    probing: Sequence[str] | None = None,
) -> tuple[int, list[str]]:
    """Release held steps; return how many and the queues that got work. Transaction: joins.

    `probing`: as probes, those of these queues that were tried least.
    """
    row = connection.execute(
        sa.text(
            """
            select released, queues
              from remand.release_held(:name, :limit, :by, :now, cast(:queues as text[]))
            """
        ),
        {
            "name": name,
            "limit": limit,
            "by": by,
            "now": now,
            "queues": None if probing is None else list(probing),
        },
    ).one()
    return row[0], row[1]


def note_release(connection: sa.Connection, name: str, now: datetime) -> None:
    """Note when it last let something through. Transaction: joins; the caller holds its row."""
    connection.execute(
        sa.text("update remand.breakers set released_at = :now where name = :name"),
        {"name": name, "now": now},
    )


def end_release(connection: sa.Connection, name: str) -> None:
    """Stop gating: everything that was held is out. Transaction: joins; the caller holds its row."""
    connection.execute(
        sa.text(
            """
            update remand.breakers
               set releasing_since = null, release_all = false, openings = 0
             where name = :name
               and state = 'closed'
            """
        ),
        {"name": name},
    )


def hold_gated(database: Database, clock: Clock, limit: int) -> int:
    """Put ready steps of gated dependencies aside; return how many. Transaction: own. Idempotent."""
    rows = database.call("select remand.hold_gated(%s, %s)", (limit, clock.fixed()))
    return int(rows[0][0])


def listed(database: Database, name: str | None = None) -> list[BreakerStatus]:
    """Return all breakers that ever moved, or the one of that name, by name. Transaction: own."""
    rows = database.call(
        f"""
        select {_COLUMNS}, {_SIZES}
          from remand.breakers breaker
         where %s is null
            or breaker.name = %s
         order by breaker.name
        """,
        (name, name),
    )
    return [BreakerStatus(_breaker(row[:-2]), row[-2], row[-1]) for row in rows]


def moves_of(database: Database, name: str, limit: int) -> list[PastMove]:
    """Return the last moves of a breaker, newest first. Transaction: own."""
    return database.read(
        PastMove,
        """
        select from_state, event, to_state, at, by, reason
          from remand.breaker_moves
         where name = %s
         order by seq desc
         limit %s
        """,
        (name, limit),
    )


def _breaker(row: Sequence[Any]) -> Breaker:
    name, state, *others = row
    return Breaker(name, BreakerState(state), *others)
