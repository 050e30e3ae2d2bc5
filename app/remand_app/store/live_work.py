"""The state of the site, for an overview. Reads live work and recent counts only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from remand_app.domain.states import FINAL_WORKFLOW_STATES, WorkflowState
from remand_app.store.database import Database

# Spelled as in the index of live workflows: Postgres does not know which states a list parameter holds.
_OPEN = "state not in ('complete', 'error', 'cancelled', 'resolved_manually')"
_LIVE = [str(state) for state in WorkflowState if state not in FINAL_WORKFLOW_STATES]


@dataclass(frozen=True, slots=True)
class Stretch:
    """What ended within a stretch of time."""

    at: datetime
    attempts: int
    failures: int


@dataclass(frozen=True, slots=True)
class IdleWorkflow:
    """A workflow that has been in its state for long."""

    workflow_id: UUID
    ref: str
    state: WorkflowState
    since: datetime


def ended_lately(database: Database, since: datetime, until: datetime, stretch_seconds: int) -> list[Stretch]:
    """Return what ended in each stretch of time between two instants, oldest first; it is kept for minutes.

    The first begins no later than `since`, the last contains `until`; empty stretches are included.
    Transaction: own.
    """
    rows = database.call(
        """
        select floor(extract(epoch from bucket) / %s)::bigint, sum(attempts)::int, sum(failures)::int
          from remand.traffic
         where bucket >= %s
         group by 1
        """,
        (stretch_seconds, since),
    )
    counted = {row[0]: row[1:] for row in rows}
    first, last = (int(instant.timestamp() // stretch_seconds) for instant in (since, until))
    return [
        Stretch(datetime.fromtimestamp(number * stretch_seconds, UTC), *counted.get(number, (0, 0)))
        for number in range(first, last + 1)
    ]


def longest_standing(database: Database, limit: int) -> list[IdleWorkflow]:
    """Return the live workflows that have not moved for longest, without those that wait for a person.

    Transaction: own.
    """
    rows = database.call(
        f"""
        select oldest.id, template.namespace || '/' || template.name || ':' || template.version,
               oldest.state, oldest.state_since
          from unnest(%s::text[]) asked(state),
               lateral (select workflow.id, workflow.template_id, workflow.state, workflow.state_since
                          from remand.workflows workflow
                         where workflow.state = asked.state
                           and workflow.{_OPEN}
                         order by workflow.state_since
                         limit %s) oldest
          join remand.templates template on template.id = oldest.template_id
         order by oldest.state_since
         limit %s
        """,
        ([state for state in _LIVE if state != "blocked_by_failures"], limit, limit),
    )
    return [IdleWorkflow(row[0], row[1], WorkflowState(row[2]), row[3]) for row in rows]


def live_by_state(database: Database, at_most: int) -> dict[WorkflowState, int]:
    """Count live workflows by state, each up to `at_most`. Transaction: own."""
    rows = database.call(
        f"""
        select asked.state,
               (select count(*)
                  from (select
                          from remand.workflows workflow
                         where workflow.state = asked.state
                           and workflow.{_OPEN}
                         limit %s) workflow)
          from unnest(%s::text[]) asked(state)
        """,
        (at_most, _LIVE),
    )
    return {WorkflowState(row[0]): row[1] for row in rows if row[1]}
