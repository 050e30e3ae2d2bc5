"""No query of the engine costs more because of what is finished, no sweep because of what is alive.

What a plan says is not what it does, so the server's own counters are asked: rows that a scan or an index
gave out on the partitioned tables while a verb ran beside a million old rows, first without statistics, then
with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from remand import PermanentError
from remand_app.domain.errors import WorkflowNotFound
from remand_app.domain.page import MOST_COUNTED
from remand_app.domain.states import WorkflowState
from remand_app.domain.workflow_filter import WorkflowFilter
from remand_app.engine import operate, overview
from remand_app.engine.operate import Who
from remand_app.engine.sweeps.partitions import partitions
from remand_app.engine.sweeps.stale import StaleResult, stale
from remand_app.store import change_mark, live_work, sweeping, workflow_search
from remand_app.store.claims import Completed
from remand_app.store.database import Database
from remand_app.store.ids import find_id
from remand_app.store.workflow_search import STRETCH
from remand_app.store.workflows import lock_workflow
from tests.benchmarks.staleness import crowd
from tests.support.databases import Cluster
from tests.support.engine import Harness
from tests.support.letters import list_letters
from tests.support.shapes import CHAIN, always, fails, shape

OLD_WORKFLOWS = 330_000
FEW_ROWS = 600
"""What a verb on a handful of live steps may read; a scan of what is finished reads a thousand times that."""

_OLD = """
create temp table old as
  select i, (lpad(to_hex(floor(extract(epoch from clock_timestamp()) * 1000)::bigint - i), 12, '0') || '7'
             || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid id,
         case when i %% 50 = 0 then 'cancelled' when i %% 51 = 0 then 'error' else 'complete' end state
    from generate_series(1, %(count)s) i;
insert into remand.workflows (id, template_id, created_at, input, submitted_by, priority, state, state_since,
                              open_steps, error_steps)
  select id, %(template)s, now(), '{}', 'old', 5, state, now(), (state = 'error')::int, (state = 'error')::int
    from old;
insert into remand.steps (workflow_id, name, position, handler, queue, priority, commit_each, depends_on,
                          children, state, open_parents, attempt, started_at, ended_at, result)
  select id, n, 0, 'h', 'steps', 5, false, '{}', '{}', state, 0, 1, case state when 'complete' then now() end,
         now(), '1'
    from old, (values ('a'), ('b')) v(n);
insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by)
  select id, 'workflow', 'steps_in_process', 'cancel', state, now(), 'old' from old where state = 'cancelled';
insert into remand.attempts (workflow_id, step, attempt, outcome, ended_at)
  select id, 'a', 1, 'failed', now() from old where state = 'error';
insert into remand.dead_letter_groups (id, fingerprint, cause, namespace, template, version, step, handler,
    error_class, message, category, state, state_since, first_at, last_at)
  values (gen_random_uuid(), 'old', 'old', 't', 'old', '1', 'a', 'h', 'E', 'm', 'permanent', 'open',
    now(), now(), now());
insert into remand.dead_letters (id, workflow_id, source, source_id, namespace, template, version, step,
    handler, queue, dead_queue, group_id, attempts, reason, category, policy, rule, error_class,
    error_message, worker, status, opened_at, triage_at, closed_by, closed_at, snapshot)
  select o.id, o.id, 'step', o.id::text, 't', 'old', '1', 'a', 'h', 'steps', 'default', g.id, 1,
         'permanent_failure',
         'permanent', 'never', 'r', 'E', 'm', 'w', 'permanently_failed', now(), now(), 'old', now(), '{}'
    from old o, remand.dead_letter_groups g where o.state = 'error';
drop table old;
"""
# Autovacuum would take statistics whenever it comes by, of some tables and not of others: tests say when.
_NO_AUTOVACUUM = """
do $$ declare t regclass; begin
  for t in select oid from pg_class where relnamespace = 'remand'::regnamespace and relkind = 'r' loop
    execute format('alter table %%s set (autovacuum_enabled = off)', t);
  end loop;
end $$
"""
_READ = """
select (select coalesce(sum(seq_tup_read), 0) from pg_stat_user_tables
         where schemaname = 'remand' and relname ~ %(tables)s)
     + (select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes
         where schemaname = 'remand' and relname ~ %(tables)s)
"""
_TABLES = "^(workflows|steps|attempts|history|dead_letters|run_queue)(_|$)"
LIVE_WORKFLOWS = 100_000
"""With fewer Postgres finds the good plan by itself."""
PLANNED_ANEW = 5
"""After so many calls in a session Postgres may take one plan for all values."""


@pytest.fixture(scope="module")
def crowded(cluster: Cluster) -> Iterator[Harness]:
    with cluster.fresh() as url:
        database = Database(url, pool_size=2)
        harness = Harness(database)
        harness.publish(shape("old", {"a": (), "b": ()}))
        template = harness.engine.templates.find("t/old").id
        database.call(_NO_AUTOVACUUM)
        with database.cursor() as cursor:
            cursor.execute(_OLD, {"count": OLD_WORKFLOWS, "template": template})
        harness.publish(shape("chain", CHAIN))
        harness.publish(shape("again", {"a": (), "b": "a"}))
        harness.publish(shape("dead", {"a": (), "b": "a"}))
        yield harness
        database.dispose()


# Of the module: every test without statistics is run before any with them.
@pytest.fixture(scope="module", params=["without statistics", "with statistics"])
def informed(crowded: Harness, request: pytest.FixtureRequest) -> Harness:
    if request.param == "with statistics":
        # As autovacuum would: what the tests before left dead is no reading of what is finished.
        with crowded.database.cursor() as cursor:
            cursor.execute("vacuum analyze")
    return crowded


@pytest.fixture
def harness(informed: Harness) -> Iterator[Harness]:
    crowded = informed
    crowded.handlers._by_name.clear()
    yield crowded
    for (workflow_id,) in crowded.database.call("select distinct workflow_id from remand.run_queue"):
        operate.cancel(crowded.engine, workflow_id, Who("test"))
    crowded.bell.take()


def rows_read(database: Database, act: Callable[[], Any]) -> int:
    """Return how many rows of the partitioned tables and of the dead letters were read meanwhile."""
    before = _counted(database)
    act()
    return _counted(database) - before


def _counted(database: Database) -> int:
    # A connection keeps its counts to itself for a while: both are asked, at once.
    with database.begin() as one, database.begin() as other:
        for connection in (one, other):
            connection.execute(sa.text("select pg_stat_force_next_flush()"))
    database.call("select pg_stat_clear_snapshot()")
    return int(database.call(_READ, {"tables": _TABLES})[0][0])


def test_the_counter_sees_a_scan(harness: Harness) -> None:
    scan = "select count(*) from remand.steps where handler = 'nobody'"

    assert rows_read(harness.database, lambda: harness.database.call(scan)) >= 2 * OLD_WORKFLOWS


def happy(harness: Harness) -> None:
    harness.play()
    harness.submit_many("t/chain", range(5))
    harness.run_until_quiet()


def retried(harness: Harness) -> None:
    harness.play(a=fails(ConnectionResetError("reset")))
    harness.run_to_end(harness.submit("t/again"))


def died_and_was_requeued(harness: Harness) -> None:
    harness.play(a=fails(PermanentError("no")))
    workflow_id = harness.submit("t/dead")
    harness.run_until_quiet()
    operate.requeue_letter(harness.engine, harness.open_letter(workflow_id).id, Who("ann"))
    harness.run_until_quiet()
    assert harness.workflow(workflow_id).state == "complete"


def was_given_up_and_taken_up(harness: Harness) -> None:
    harness.play(a=always(PermanentError("no")))
    workflow_id = harness.submit("t/dead")
    harness.run_until_quiet()
    operate.give_up_letter(harness.engine, harness.open_letter(workflow_id).id, Who("ann"))
    operate.resolve_step(harness.engine, workflow_id, "a", Who("ann"))
    operate.cancel(harness.engine, workflow_id, Who("ann"))


def was_rescued(harness: Harness) -> None:
    workflow_id = harness.submit("t/again")
    harness.new_worker(hostname="dead@test").queue.claim("steps", 5)
    harness.advance(31)
    assert harness.sweep_rescue().attempts == 1
    operate.cancel(harness.engine, workflow_id, Who("ann"))


def was_parked(harness: Harness) -> None:
    workflow_id = harness.submit("t/again")
    [claim] = harness.worker.queue.claim("steps", 5)
    with harness.database.begin() as connection:
        lock_workflow(connection, workflow_id)
        harness.worker.queue.settle([Completed(claim, "1")], "steps", 5)
    assert harness.sweep_rescue().parked == 1


def was_given_back(harness: Harness) -> None:
    harness.submit("t/again")
    queue = harness.worker.queue
    queue.give_back(queue.claim("steps", 5))
    [claim] = queue.claim("steps", 5)
    queue.renew(claim)
    queue.checkpoint(claim, "1")
    queue.interrupt([(claim.workflow_id, claim.step, claim.attempt)])


def swept(harness: Harness) -> None:
    harness.sweep_ring()
    harness.sweep_rescue()
    partitions(harness.engine)
    sweeping.waiting_queues(harness.database)


def looked_at(harness: Harness) -> None:
    harness.play(a=fails(ConnectionResetError("reset")))
    workflow_id = harness.submit("t/again")
    harness.run_until_quiet()
    harness.workflow(workflow_id)
    harness.states(workflow_id)
    harness.attempts(workflow_id)
    harness.moves(workflow_id)
    find_id(harness.database, "workflows", str(workflow_id), WorkflowNotFound)


def listed(harness: Harness) -> None:
    workflow_search.search(harness.database, WorkflowFilter(states=(WorkflowState.STEPS_IN_PROCESS,)))
    live_work.live_by_state(harness.database, 100)
    moving = (WorkflowState.STEPS_IN_PROCESS, WorkflowState.WAITING_FOR_RETRY)
    workflow_search.search(harness.database, WorkflowFilter(states=moving))
    live_work.longest_standing(harness.database, 5)
    change_mark.take(harness.database)
    list_letters(harness.database)
    assert overview.queues(harness.engine)
    overview.breakers(harness.engine, unmoved=True)


def searched_after_others_ran(harness: Harness) -> None:
    """Look for pages whose plans go by how large Postgres thinks the tables are, after others grew them."""
    tagged = harness.submit("t/again", tags=["rare"])
    happy(harness)
    was_parked(harness)
    moving = (WorkflowState.STEPS_IN_PROCESS, WorkflowState.WAITING_FOR_RETRY)
    workflow_search.search(harness.database, WorkflowFilter(states=moving))
    found = workflow_search.search(harness.database, WorkflowFilter(tag="rare"))
    assert tagged in [one.id for one in found.page.items]
    workflow_search.search(harness.database, WorkflowFilter(states=moving, tag="rare"))


@pytest.mark.parametrize(
    "act",
    [
        happy,
        retried,
        died_and_was_requeued,
        was_given_up_and_taken_up,
        was_rescued,
        was_parked,
        was_given_back,
        swept,
        looked_at,
        listed,
        searched_after_others_ran,
    ],
    ids=lambda act: act.__name__,
)
def test_nothing_that_is_finished_is_read_again(harness: Harness, act: Callable[[Harness], None]) -> None:
    read = rows_read(harness.database, lambda: act(harness))

    print(f"{act.__name__}: {read} rows")
    assert read < FEW_ROWS


def test_how_many_there_are_is_counted_up_to_a_bound(harness: Harness) -> None:
    plain = WorkflowFilter()

    read = rows_read(harness.database, lambda: workflow_search.search(harness.database, plain))

    assert read < MOST_COUNTED + FEW_ROWS


def test_what_no_index_finds_is_sought_in_a_stretch(harness: Harness) -> None:
    resolved = WorkflowFilter(states=(WorkflowState.RESOLVED_MANUALLY,))

    read = rows_read(harness.database, lambda: workflow_search.search(harness.database, resolved))

    # Twice: once for what fits, once for how far back that was.
    assert read < 2 * STRETCH + FEW_ROWS


@pytest.fixture(scope="module")
def busy(cluster: Cluster) -> Iterator[Harness]:
    with cluster.fresh() as url:
        database = Database(url, pool_size=2)
        yield crowd(database, LIVE_WORKFLOWS)
        database.dispose()


def test_the_counter_sees_a_scan_of_what_is_alive(busy: Harness) -> None:
    scan = "select count(*) from remand.run_queue where dependency = 'nobody'"

    assert rows_read(busy.database, lambda: busy.database.call(scan)) >= LIVE_WORKFLOWS


def test_what_is_alive_and_well_is_not_read_by_the_stale_sweep(busy: Harness) -> None:
    for _ in range(PLANNED_ANEW + 1):
        assert stale(busy.engine) == StaleResult()

    assert rows_read(busy.database, lambda: stale(busy.engine)) < FEW_ROWS
