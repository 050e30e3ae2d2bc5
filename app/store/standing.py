"""How the site stands, for an overview. Reads live work and recent counts only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.states import FINAL_WORKFLOW_STATES, WorkflowState
from app.store.session import Database

_LIVE = [str(one) for one in WorkflowState if one not in FINAL_WORKFLOW_STATES]


@dataclass(frozen=True, slots=True)
class Second:
    """What ended within one stretch of time."""

    at: datetime
    attempts: int
    failures: int


@dataclass(frozen=True, slots=True)
class StandsStill:
    """A workflow that has been in its state for long."""

    workflow_id: UUID
    ref: str
    state: WorkflowState
    since: datetime


def ended_lately(database: Database, since: datetime, stretch_seconds: int) -> list[Second]:
    """Return attempts that ended since then, by stretches, oldest first; they are kept for minutes.

    Transaction: own.
    """
    rows = database.call(
        "select to_timestamp(floor(extract(epoch from bucket) / %s) * %s),"
        " sum(attempts)::int, sum(failures)::int"
        " from remand.traffic where bucket >= %s group by 1 order by 1",
        (stretch_seconds, stretch_seconds, since),
    )
    return [Second(*row) for row in rows]


def longest_standing(database: Database, limit: int) -> list[StandsStill]:
    """Return the live workflows that moved least lately, those that wait for a person left out.

    Transaction: own.
    """
    rows = database.call(
        "select f.id, t.namespace || '/' || t.name || ':' || t.version, f.state, f.state_since"
        " from unnest(%s::text[]) s(state), lateral (select x.id, x.template_id, x.state, x.state_since"
        " from remand.workflows x where x.state = s.state order by x.state_since limit %s) f"
        " join remand.templates t on t.id = f.template_id order by f.state_since limit %s",
        ([one for one in _LIVE if one != "blocked_by_failures"], limit, limit),
    )
    return [StandsStill(row[0], row[1], WorkflowState(row[2]), row[3]) for row in rows]


def live_by_state(database: Database, at_most: int) -> dict[WorkflowState, int]:
    """Count live workflows by state, each up to `at_most`. Transaction: own."""
    rows = database.call(
        "select s.state, (select count(*) from (select from remand.workflows f where f.state = s.state"
        " limit %s) x) from unnest(%s::text[]) s(state)",
        (at_most, _LIVE),
    )
    return {WorkflowState(row[0]): row[1] for row in rows if row[1]}
