"""The hot path: claim, settle and what can go wrong with a claim. One call, one round trip, one transaction.

Every call names the worker incarnation and the attempt. Attempts that this worker no longer holds are not
touched, and the rows that come back say what counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from remand_app.clock import Clock
from remand_app.domain.errors import StepUnreadable, ValueRefused
from remand_app.store import json_values
from remand_app.store.arrays import plain, texts
from remand_app.store.attempt_ends import fail_attempts, settle_parked
from remand_app.store.claims import Claim, Completed, EndedBadly, Head, Settled
from remand_app.store.database import Database
from remand_app.store.rows import T
from remand_app.store.unclassified import Unknown, record

INLINE_PARENTS_BYTES: Final = 500_000
"""Results of a step's parents, together and as stored, that come along with its claim."""
_NOTHING_INLINE: Final = -1
_STARVING_SECONDS: Final = 5.0
"""How long ready steps of one namespace and priority wait before turns are reserved for them."""
_POSTPONED_SECONDS: Final = 60.0
"""How much later a step that cannot even be claimed is tried again."""

_CLAIM = "select * from remand.claim_v2(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_CLAIM_HEAD = "select * from remand.claim_head_v2(%s, %s, %s, %s, %s, %s, %s)"
_READ_CLAIM = """
select work.workflow_id, work.name as step, work.attempt, work.handler,
       coalesce(work.timeout_seconds, %s) as timeout_seconds,
       work.commit_each,
       coalesce(work.input, flow.input) as input,
       parents.results as parents,
       work.checkpoint, queued.lease_until, flow.template_id,
       extract(epoch from work.started_at - queued.due_at)::float as waited_seconds
  from remand.run_queue queued
  join remand.steps work on work.workflow_id = queued.workflow_id and work.name = queued.step
  join remand.workflows flow on flow.id = queued.workflow_id,
       lateral remand.parents_of(work.workflow_id, work.depends_on, %s) parents
 where queued.workflow_id = %s
   and queued.step = %s
   and queued.worker = %s
"""
_GIVE_BACK = "select * from remand.give_back(%s, %s, %s::uuid[], %s::text[], %s::uuid[], %s::text[], %s)"
# An attempt that was given back may be claimed again under the same number: the lease tells the claims apart.
_GIVE_BACK_CLAIMS = """
with held as materialized (
  select queued.workflow_id, queued.step
    from unnest(%s::uuid[], %s::text[], %s::timestamptz[]) given(workflow_id, step, lease_until)
    join remand.run_queue queued
      on queued.workflow_id = given.workflow_id
     and queued.step = given.step
     and queued.lease_until = given.lease_until
   order by 1, 2
     for update of queued),
claims as (
  select coalesce(array_agg(held.workflow_id), '{}') as workflows,
         coalesce(array_agg(held.step), '{}') as steps
    from held)
select queue
  from claims, remand.give_back(%s, %s, claims.workflows, claims.steps, '{}', '{}', %s) queue
"""
_INTERRUPT = "select * from remand.interrupt(%s, %s::uuid[], %s::text[], %s::int[], %s)"
_RENEW = """
update remand.run_queue
   set lease_until = coalesce(%s, clock_timestamp()) + make_interval(secs => %s)
 where workflow_id = %s
   and step = %s
   and attempt = %s
   and worker = %s
   and phase = 'claimed'
returning 1
"""
_CHECKPOINT = f"""
with held as ({_RENEW})
update remand.steps
   set checkpoint = %s::text::jsonb
 where workflow_id = %s
   and name = %s
   and exists (select from held)
returning 1
"""
_PARENTS_FAILURES = """
select parent.name,
       jsonb_build_object('error_class', parent.failure -> 'error_class',
                          'message', parent.failure -> 'message')
  from remand.steps step,
       unnest(step.depends_on) named(name),
       lateral (select steps.name, steps.failure
                  from remand.steps
                 where steps.workflow_id = step.workflow_id
                   and steps.name = named.name
                   and steps.state = 'error'
                offset 0) parent
 where step.workflow_id = %s
   and step.name = %s
"""
_WORKFLOW_INPUT = "select input from remand.workflows where id = %s"
_PARENTS = """
select parent.name, parent.result
  from remand.steps step,
       unnest(step.depends_on) named(name),
       lateral (select steps.name, steps.result
                  from remand.steps
                 where steps.workflow_id = step.workflow_id
                   and steps.name = named.name
                offset 0) parent
 where step.workflow_id = %s
   and step.name = %s
"""
_WAIT_AT_MOST = sa.text("set local lock_timeout = '2s'")
_LOCK_WORKFLOWS = sa.text("select from remand.workflows where id = any(:ids) order by id for update")
_SETTLE_PARKED = sa.text(
    "select settled, queues, passed from remand.settle_parked(:limit, :timeout, :slack, :now)"
)
_SETTLE: Final = f"""
select outcome.settled, outcome.parked, outcome.rung, outcome.passed,
       {", ".join(f"work.{column.name}" for column in fields(Claim))}
  from remand.settle_v2(%s::uuid[], %s::text[], %s::int[], %s::text[]::jsonb[],
                        %s, %s, %s, %s, %s, %s, %s, 'claimed', %s) outcome
  left join lateral unnest(outcome.claims) work
    on true
"""


class RunQueue:
    """The run queue as one process of one worker incarnation sees it."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        worker: UUID,
        pid: int,
        timeout_seconds: float,
        slack_seconds: float,
    ) -> None:
        """`timeout_seconds`: of steps that name none; `slack_seconds`: what a lease adds to the timeout."""
        self._database = database
        self._clock = clock
        self._worker = worker
        self._pid = pid
        self._times = (timeout_seconds, slack_seconds)
        self._turns = itertools.count()

    @property
    def worker(self) -> UUID:
        """The incarnation this process belongs to."""
        return self._worker

    def claim(self, queue: str, k: int) -> list[Claim]:
        """Claim up to `k` due steps; which come first changes from turn to turn. Transaction: own."""
        who = (self._worker, self._pid)
        policy = (next(self._turns), _STARVING_SECONDS, INLINE_PARENTS_BYTES)
        return self._read_as(Claim, _CLAIM, (queue, k, *who, *self._times, *policy, self._clock.fixed()))

    def claim_head(self, queue: str, *, postpone: bool = False) -> Head | None:
        """Claim the first due step without reading what users gave; None: there is none. Transaction: own.

        `postpone`: do not claim it, put it off by a minute.
        """
        seconds = _POSTPONED_SECONDS if postpone else None
        heads = self._database.read(
            Head, _CLAIM_HEAD, (queue, self._worker, self._pid, *self._times, seconds, self._clock.fixed())
        )
        return heads[0] if heads else None

    def read(self, head: Head) -> Claim:
        """Read what a claimed step is to work on, but for its parents' results. Transaction: own.

        Raises whatever it cannot be read for.
        """
        arguments = (self._times[0], _NOTHING_INLINE, head.workflow_id, head.step, self._worker)
        [claim] = self._read_as(Claim, _READ_CLAIM, arguments)
        return claim

    def settle(self, results: Sequence[Completed], queue: str, k: int) -> Settled:
        """Record results and claim up to `k` of the steps that became ready in `queue`. Transaction: own.

        Idempotent: a result that was recorded before, or whose claim is lost, is not counted again.
        """
        claims = [result.claim for result in results]
        rows = self._read(
            _SETTLE,
            (
                plain(claim.workflow_id for claim in claims),
                texts(claim.step for claim in claims),
                plain(claim.attempt for claim in claims),
                texts(result.result for result in results),
                self._worker,
                self._pid,
                queue,
                k,
                *self._times,
                INLINE_PARENTS_BYTES,
                self._clock.fixed(),
            ),
        )
        return _settled(rows)

    def refusal(self, result: str) -> ValueRefused | None:
        """Return the error of Postgres for this result alone; None: it can be stored. Transaction: own."""
        try:
            self._database.call("select %s::text[]::jsonb[] is null", (texts([result]),))
        except ValueRefused as refusal:
            return refusal
        return None

    def settle_parked(self, limit: int) -> Settled:
        """Apply parked results whose workflow is free. Transaction: own."""
        return settle_parked(self._database, self._clock, limit, *self._times)

    def settle_contended(self, workflows: Iterable[UUID], limit: int) -> Settled:
        """Wait until workflows are free; apply their parked results and those of others. Transaction: own.

        Raises:
            Busy: somebody held one of them for longer than two seconds.
        """
        with self._database.begin() as connection:
            connection.execute(_WAIT_AT_MOST)
            connection.execute(_LOCK_WORKFLOWS, {"ids": sorted(workflows)})
            row = connection.execute(
                _SETTLE_PARKED,
                {
                    "limit": limit,
                    "timeout": self._times[0],
                    "slack": self._times[1],
                    "now": self._clock.fixed(),
                },
            ).one()
        return Settled(ring=row.queues, counted=row.settled, passed=row.passed)

    def fail(self, ended: Sequence[EndedBadly], *, by: str) -> set[tuple[UUID, str]]:
        """Record attempts that ended badly; return the steps of those that counted.

        Transaction: own. Idempotent.
        """
        return fail_attempts(self._database, self._clock, ended, by=by)

    def count_unclassified(self, failures: Sequence[Unknown]) -> dict[str, int] | str:
        """Count failures that no rule knows, as `unclassified.record`. Transaction: own."""
        return record(self._database, self._clock, failures)

    def give_back(self, claims: Iterable[Claim]) -> list[str]:
        """Give unstarted claims back, uncounted; return the queues that have work again. Transaction: own.

        Idempotent: what this process has claimed anew since is another claim.
        """
        held = list(claims)
        rows = self._database.call(
            _GIVE_BACK_CLAIMS,
            (
                plain(claim.workflow_id for claim in held),
                texts(claim.step for claim in held),
                [claim.lease_until for claim in held],
                self._worker,
                self._pid,
                self._clock.fixed(),
            ),
        )
        return [row[0] for row in rows]

    def give_back_unknown(self, known: Iterable[Claim | EndedBadly]) -> list[str]:
        """Give back what is claimed by this process but not in `known`: claims whose answer was lost.

        Transaction: own.
        """
        kept = list(known)
        return self._give_back(
            self._pid, None, None, [claim.workflow_id for claim in kept], [claim.step for claim in kept]
        )

    def give_back_of(self, pid: int | None, *, but: Sequence[tuple[UUID, str]] = ()) -> list[str]:
        """Give back the unstarted claims of a dead process of this worker (None: all). Transaction: own."""
        return self._give_back(pid, None, None, [key[0] for key in but], [key[1] for key in but])

    def interrupt(self, running: Sequence[tuple[UUID, str, int]]) -> list[str]:
        """End attempts that a shutdown cut short; they are due again at once. Transaction: own."""
        rows = self._database.call(
            _INTERRUPT,
            (
                self._worker,
                [key[0] for key in running],
                [key[1] for key in running],
                [key[2] for key in running],
                self._clock.fixed(),
            ),
        )
        return [row[0] for row in rows]

    def renew(self, claim: Claim) -> bool:
        """Extend the lease of a running attempt; False when it is no longer ours. Transaction: own."""
        return bool(self._database.call(_RENEW, self._renewal(claim)))

    def checkpoint(self, claim: Claim, value: str) -> bool:
        """Save a checkpoint (JSON text) and extend the lease; False when it is no longer ours.

        Transaction: own.
        """
        return bool(
            self._database.call(_CHECKPOINT, (*self._renewal(claim), value, claim.workflow_id, claim.step))
        )

    def parents(self, claim: Claim) -> dict[str, Any]:
        """Read the results of a step's parents one by one, whatever their size. Transaction: own."""
        rows = self._read(_PARENTS, (claim.workflow_id, claim.step))
        return dict(rows)

    def workflow_input(self, claim: Claim) -> Any:
        """Read what the workflow of a claim was submitted with. Transaction: own."""
        return self._read(_WORKFLOW_INPUT, (claim.workflow_id,))[0][0]

    def parents_failures(self, claim: Claim) -> dict[str, Any]:
        """Read the failures of those parents of a step that failed. Transaction: own."""
        return dict(self._read(_PARENTS_FAILURES, (claim.workflow_id, claim.step)))

    def _read(self, sql: str, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Call and return rows that steps are to work on, whole. Raises as `_whole`."""
        with _whole():
            return self._database.call(sql, arguments)

    def _read_as(self, kind: type[T], sql: str, arguments: Sequence[Any]) -> list[T]:
        """Do the same, and return the rows as values."""
        with _whole():
            return self._database.read(kind, sql, arguments)

    def _renewal(self, claim: Claim) -> tuple[Any, ...]:
        seconds = claim.timeout_seconds + self._times[1]
        return (self._clock.fixed(), seconds, claim.workflow_id, claim.step, claim.attempt, self._worker)

    def _give_back(self, *arguments: Any) -> list[str]:
        rows = self._database.call(_GIVE_BACK, (self._worker, *arguments, self._clock.fixed()))
        return [row[0] for row in rows]


@contextmanager
def _whole() -> Iterator[None]:
    """Make sure that everything read in this context is complete.

    Raises:
        StepUnreadable: it holds a value that Python cannot read; the call has taken effect nevertheless.
    """
    before = json_values.unread()
    yield
    if json_values.unread() != before:
        raise StepUnreadable("a number has more digits than Python reads, or its nesting is too deep")


def _settled(rows: Sequence[tuple[Any, ...]]) -> Settled:
    """Build one value from rows that begin with the same outcome; each row brings a claim, or none does."""
    settled, parked, rung, passed, *_ = rows[0]
    claims = [Claim(*claimed) for _, _, _, _, *claimed in rows if claimed[0] is not None]
    return Settled(claims, rung, settled, len(parked), frozenset(parked), passed)
