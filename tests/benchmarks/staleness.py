"""`make bench-staleness`: how fast stale workflows are taken out of work among very many that are not.

A database of its own, filled by SQL; nothing but the sweeps is timed. Arguments: `--live N` workflows that
are alive (default 1 000 000), `--stale N` (default 10 000).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from datetime import UTC, datetime, timedelta

from remand_app.engine.sweeps.stale import StaleResult, stale
from remand_app.store import schema
from remand_app.store.database import Database
from remand_app.telemetry import configure_logging
from tests.support.clock import FakeClock
from tests.support.databases import Cluster
from tests.support.engine import Harness
from tests.support.servers import servers
from tests.support.shapes import shape

_SLICE = 100_000
_IDLE = 7
# Two of three wait their turn in a queue with a worker, one of three for a retry that is not due.
_FILL = """
with made as materialized (
  select remand.new_uuid7() id, n, x.at, x.queue, x.queue = 'steps' and n %% 3 = 0 waits
    from generate_series(%(first)s, %(last)s) n,
         (select cast(%(at)s as timestamptz) as at, cast(%(queue)s as text) queue) x),
flows as (
  insert into remand.workflows
    (id, template_id, created_at, input, submitted_by, priority, state, state_since, open_steps)
  select m.id, t.id, m.at, jsonb_build_object('n', m.n), 'bench', 5,
         case when m.waits then 'waiting_for_retry' else 'steps_in_process' end, m.at, 1
    from made m join remand.templates t on t.name = m.queue),
steps as (
  insert into remand.steps
    (workflow_id, name, position, handler, queue, priority, commit_each, depends_on, children, state,
     open_parents, attempt, enqueued_at)
  select m.id, s.name, 0, s.handler, s.queue, 5, false, '{}', '{}',
         case when m.waits then 'waiting_for_retry' else 'enqueued' end, 0, 0, m.at
    from made m join remand.templates t on t.name = m.queue
    join remand.template_steps s on s.template_id = t.id)
insert into remand.run_queue
  (workflow_id, step, phase, queue, namespace, dependency, priority, due_at, attempt)
select m.id, 'a', case when m.waits then 'waiting' else 'ready' end, m.queue, 't', 'h', 5,
       case when m.waits then m.at + interval '1 day' else m.at end, 0
  from made m
"""


def main() -> None:
    """Run the benchmark; the last line of standard output is its result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.staleness", description=__doc__)
    parser.add_argument("--live", type=int, default=1_000_000)
    parser.add_argument("--stale", type=int, default=10_000)
    options = parser.parse_args()
    configure_logging("CRITICAL")
    with servers(f"staleness-{os.getpid()}") as up, Cluster(up.database_url).empty() as url:
        database = Database(url)
        schema.migrate(database)
        figures = measure(database, options.live, options.stale)
        database.dispose()
    print(json.dumps(figures))


def measure(database: Database, live: int, stale_ones: int) -> dict[str, float]:
    """Return the seconds until all stale ones are in the queue, and the milliseconds of an idle sweep."""
    begun = time.perf_counter()
    harness = crowd(database, live)
    _say(f"{live:,} workflows made in {time.perf_counter() - begun:.0f} s")
    idle = [_timed(harness, StaleResult()) for _ in range(_IDLE)]
    _fill(harness, "far", stale_ones, hours=1)
    seconds = _timed(harness, StaleResult(letters=stale_ones))
    return {
        "stale_s": round(seconds, 3),
        "idle_sweep_ms": round(statistics.median(idle) * 1000, 1),
    }


def crowd(database: Database, live: int) -> Harness:
    """Return a site with as many live workflows, none of them stale; those of queue `far` would be."""
    harness = Harness(database, FakeClock(datetime.now(UTC)))
    harness.worker.beat()
    harness.database.call("update remand.workers set started_at = started_at - interval '1 day'")
    for queue in ("steps", "far"):
        harness.publish(shape(queue, {"a": ()}, each={"a": {"queue": queue}}))
    _fill(harness, "steps", live, hours=2)
    return harness


def _fill(harness: Harness, queue: str, workflows: int, hours: float) -> None:
    at = harness.clock.now - timedelta(hours=hours)
    for first in range(1, workflows + 1, _SLICE):
        last = min(first + _SLICE - 1, workflows)
        harness.database.call(_FILL, {"first": first, "last": last, "queue": queue, "at": at})
    for table in ("workflows", "steps", "run_queue"):
        harness.database.call(f"vacuum (analyze) remand.{table}")


def _timed(harness: Harness, expected: StaleResult) -> float:
    begun = time.perf_counter()
    swept = stale(harness.engine)
    seconds = time.perf_counter() - begun
    if swept != expected:
        raise SystemExit(f"the sweep did {swept}, not {expected}")
    return seconds


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
