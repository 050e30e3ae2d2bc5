"""Failed attempts: the worker of their retry queue takes them, decides, and applies the decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from remand.failure import Failure
from remand_app.store import failure_json


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A failed attempt that waits for the decision of its retry queue."""

    workflow_id: UUID
    step: str
    attempt: int
    outcome: str
    failures: int
    lost_attempts: int
    failure: Failure
    template_id: int
    handler: str
    queue: str
    worker: UUID | None
    policy: str
    """The policy it was routed by; several share a queue."""
    failing_since: datetime | None
    """The first failure since the step was last (re)started; None: not noted."""
    passed: bool
    """A circuit breaker had let the attempt through."""
    unread: Exception | None = None
    """Why what is stored of the failure could not be read whole; None: it could."""


@dataclass(frozen=True, slots=True)
class DecidedRetry:
    """A failed attempt that is to be repeated."""

    failed: FailedAttempt
    due_at: datetime
    explanation: str
    latest: datetime | None = None
    """Not to be put off beyond this; None: no such limit."""
    put_off: timedelta = timedelta(0)
    """By how much it is due later than its policy says, because the budget is used up."""


@dataclass(frozen=True, slots=True)
class DecidedDeath:
    """A failed attempt after which its step cannot go on."""

    failed: FailedAttempt
    reason: str
    explanation: str
    source: str = "step"
    """What kind of thing died, as its letter says."""
    source_id: str | None = None
    """Its identity; None: that of the attempt."""


def take_failures(connection: sa.Connection, queue: str, k: int) -> list[FailedAttempt]:
    """Lock up to `k` failed attempts of a retry queue and their workflows. Transaction: joins."""
    rows = connection.execute(
        sa.text("select * from remand.take_failures(:queue, :k)"), {"queue": queue, "k": k}
    )
    return [_failed_attempt(**row) for row in rows.mappings()]


def _failed_attempt(*, failure: Any, **columns: Any) -> FailedAttempt:
    read, unread = failure_json.read(failure)
    return FailedAttempt(**columns, failure=read, unread=unread)


def postpone_first(connection: sa.Connection, queue: str, *, until: datetime) -> tuple[UUID, str] | None:
    """Put the first failed attempt of a queue behind the others; return its step. Transaction: joins."""
    row = connection.execute(
        sa.text(
            # Materialised: asked again for each row of a join, it would give the next one each time.
            # In the order of `take_failures`: the first there must be the first here.
            """
            with first as materialized (
              select failed.workflow_id, failed.step
                from remand.run_queue failed
               where failed.queue = :queue
                 and failed.phase = 'failed'
               order by failed.due_at, failed.workflow_id, failed.step
               limit 1
                 for update skip locked)
            update remand.run_queue queued
               set due_at = :until
              from first
             where queued.workflow_id = first.workflow_id
               and queued.step = first.step
            returning queued.workflow_id, queued.step
            """
        ),
        {"queue": queue, "until": until},
    ).first()
    return None if row is None else (row[0], row[1])


def schedule_retries(
    connection: sa.Connection, retries: Sequence[DecidedRetry], *, by: str, now: datetime
) -> list[str]:
    """Schedule steps for their due instants; return the queues that got work at once. Transaction: joins."""
    rows = connection.execute(
        sa.text(
            """
            select *
              from remand.schedule_retries(:ids, :steps, :attempts, cast(:due as timestamptz[]), :why, :by,
                                           :now)
            """
        ),
        {
            "ids": [retry.failed.workflow_id for retry in retries],
            "steps": [retry.failed.step for retry in retries],
            "attempts": [retry.failed.attempt for retry in retries],
            "due": [retry.due_at for retry in retries],
            "why": [retry.explanation for retry in retries],
            "by": by,
            "now": now,
        },
    )
    return [row[0] for row in rows]


def keep_letters(connection: sa.Connection, keeping: Sequence[UUID], giving_up: Sequence[UUID]) -> None:
    """Note which workflows get a letter, and which end in error instead. Transaction: joins, holding them."""
    connection.execute(
        sa.text(
            """
            update remand.workflows
               set gives_up = id = any(:giving_up)
             where id = any(:all)
               and gives_up <> (id = any(:giving_up))
            """
        ),
        {"all": [*keeping, *giving_up], "giving_up": list(giving_up)},
    )


def fail_steps(connection: sa.Connection, deaths: Sequence[DecidedDeath], *, by: str, now: datetime) -> None:
    """Move steps to error and roll their workflows up. Transaction: joins; open the letters in it too."""
    connection.execute(
        sa.text("select remand.fail_steps(:ids, :steps, :attempts, :why, :by, :now)"),
        {
            "ids": [death.failed.workflow_id for death in deaths],
            "steps": [death.failed.step for death in deaths],
            "attempts": [death.failed.attempt for death in deaths],
            "why": [death.explanation for death in deaths],
            "by": by,
            "now": now,
        },
    )
