"""A scene in which every sweep has work, what came of it, and a hand that strikes at a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

import psycopg2.extensions
import sqlalchemy as sa

from remand.errors import PermanentError, RetryableError
from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.engine import redrive
from remand_app.engine.operate import Who
from remand_app.engine.redrive import Options
from remand_app.engine.sweeps.runs import function_of
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at
from tests.support.databases import empty_all
from tests.support.engine import Harness, settings_for
from tests.support.invariants import check_invariants
from tests.support.shapes import shape

ANN = Who("ann", "the bank is back")
DAY = 86_400.0
SETTINGS = {
    "dlq": {"auto_requeue": {"enabled": True, "interval_seconds": 600}},
    "retention": {"audit_days": 1, "hours_days": 1},
    "archive": {"retention_days": 1},
}
# One sends over the network: what happens there is told by the tests of deliveries. The other finds what no
# engine makes, and what breaks the invariants: see test_stalled.
SWEEPS = sorted(set(BEAT_SCHEDULE) - {"notify", "stalled"})
_OUTCOME = """
select kind, what, count(*) from (
  select 'workflow' kind, concat_ws(' ', t.name, w.state) what
    from remand.workflows w join remand.templates t on t.id = w.template_id
  union all
  select 'step', concat_ws(' ', t.name, s.name, s.state, s.failures, s.lost_attempts)
    from remand.steps s join remand.workflows w on w.id = s.workflow_id
    join remand.templates t on t.id = w.template_id
  union all select 'attempt', concat_ws(' ', a.step, a.attempt, a.outcome) from remand.attempts a
  union all select 'letter', concat_ws(' ', d.reason, d.status, d.template) from remand.dead_letters d
  union all select 'archived', a.state from remand.workflows_archive a
  union all select 'archived step', a.name from remand.steps_archive a
  union all select 'queued', concat_ws(' ', q.queue, q.phase) from remand.run_queue q
  union all select 'redriven', i.state from remand.redrive_items i
  union all select 'redrive', concat_ws(' ', r.state, r.sent, r.succeeded) from remand.redrives r
  union all select 'worker', concat_ws(' ', w.hostname, w.stopped_at is null) from remand.workers w
  union all select 'move', concat_ws(' ', h.kind, h.event) from remand.history h
  union all select 'audit', a.verb from remand.audit_log a
  union all select 'hour', sum(h.opened)::text from remand.dead_letter_hours h
  union all
  select 'table', c.relname from pg_class c
   where c.relnamespace = 'remand'::regnamespace and c.relkind = 'r'
) x group by 1, 2 order by 1, 2
"""


class Strike:
    """Something that happens just before the nth statement of a database, once."""

    def __init__(self, strike: Callable[[], object]) -> None:
        self._strike = strike
        self.left: int | None = None
        """Statements until it happens; None: it does not."""
        self.seen = 0

    def count(self) -> None:
        self.seen += 1
        if self.left is None:
            return
        if self.left == 0:
            self.left = None
            self._strike()
        else:
            self.left -= 1

    @contextmanager
    def reach(self, database: Database) -> Iterator[None]:
        """Be asked before every statement of a database."""
        strike = self

        class Watched(psycopg2.extensions.cursor):
            def execute(self, *given: Any) -> Any:
                strike.count()
                return super().execute(*given)

        is_over = False

        def connected(connection: Any, _record: object) -> None:
            if not is_over:
                connection.cursor_factory = Watched

        database.engine.dispose()
        sa.event.listen(database.engine, "connect", connected)
        try:
            yield
        finally:
            self.left = None
            # The pool may be another by now, which a listener cannot be taken from.
            is_over = True
            database.engine.dispose()


def scene(database: Database) -> Harness:
    """Give every sweep something to do."""
    empty_all(database)
    harness = Harness(database, settings=settings_for(**SETTINGS))
    for name, more in {
        "retried": {}, "dies": {}, "again": {"retry": {"max_attempts": 1}}, "lost": {},
        "expires": {"expire_after_seconds": DAY}, "far": {},
    }.items():  # fmt: skip
        of_steps = {"far": {"queue": "far"}, "expires": {"queue": "slow"}}
        each = {"a": of_steps[name]} if name in of_steps else None
        harness.publish(shape(name, {"a": (), "b": "a"}, each=each, **more))
    harness.play(a=failing)
    for name in ("retried", "dies", "again"):
        harness.submit_many(f"t/{name}", [name] * 3)
    for n in range(3):
        # Of the clock's time, where there is no partition: they go to the archive from the default one.
        harness.submit("t/retried", "well", id=UUID(int=first_id_at(harness.clock.now).int + n))
    harness.run_until_quiet()
    for name in ("expires", "far", "lost"):
        harness.submit_many(f"t/{name}", [name] * 3)
    planned = redrive.plan(harness.engine, LetterFilter(template="dies"), ANN, Options())
    redrive.start(harness.engine, planned.redrive.id, ANN)
    gone = harness.new_worker("steps", hostname="w2@test")
    gone.queue.claim("steps", 2)
    harness.bell.take()
    harness.advance(DAY + 1)
    check_invariants(database)
    return harness


def failing(ctx: Any) -> str:
    if ctx.input == "dies" and ctx.attempt == 1:
        raise PermanentError("no")
    if ctx.input in ("retried", "again") and ctx.attempt == 1:
        raise RetryableError("busy")
    return "well"


def swept(harness: Harness, name: str) -> Callable[[], Any]:
    return partial(function_of(name), harness.engine)


def outcome(harness: Harness) -> list[tuple[Any, ...]]:
    check_invariants(harness.database)
    return list(harness.database.call(_OUTCOME))


def in_peace(database: Database, name: str) -> list[tuple[Any, ...]]:
    """Run a sweep until it moves nothing, and say what came of it."""
    harness = scene(database)
    before = outcome(harness)
    swept(harness, name)()
    swept(harness, name)()
    after = outcome(harness)
    assert before != after, "it had nothing to do"
    return after
