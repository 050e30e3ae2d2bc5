"""`make bench-redrive`: how fast letters are requeued in bulk, against one by one, and how fast a plan is.

Workflows die in a database of their own by way of the real engine; nothing but the requeueing is timed.
Arguments: `--letters N` (default 6000), `--single N` of them requeued one by one (default 400), `--planned N`
letters for the plan alone, made by SQL (default 100 000; 0: none).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from uuid import UUID

from remand import PermanentError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.redrive import RedriveVerb
from remand_app.engine import redrive
from remand_app.engine.operate import Who, requeue_letter
from remand_app.engine.redrive import Options
from remand_app.engine.sweeps.redrive import redrive as sweep
from remand_app.store import schema
from remand_app.store.database import Database
from remand_app.telemetry import configure_logging
from tests.benchmarks.letters import fill
from tests.support.databases import Cluster
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.servers import servers
from tests.support.shapes import always, shape

WHO = Who("bench", "measured")
CHUNK = 500


def main() -> None:
    """Run the benchmark; the last line of standard output is its result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.redrive", description=__doc__)
    parser.add_argument("--letters", type=int, default=6000)
    parser.add_argument("--single", type=int, default=400)
    parser.add_argument("--planned", type=int, default=100_000)
    options = parser.parse_args()
    configure_logging("CRITICAL")
    with servers(f"redrive-{os.getpid()}") as up:
        figures = _requeue(Cluster(up.database_url), options.letters, options.single)
        if options.planned:
            figures |= _plan(Cluster(up.database_url), options.planned)
    for name, figure in figures.items():
        print(f"{name:28} {figure}", file=sys.stderr)
    print(json.dumps(figures))


def _requeue(cluster: Cluster, letters: int, single: int) -> dict[str, float]:
    with cluster.empty() as url:
        database = Database(url)
        schema.migrate(database)
        harness = Harness(database)
        ids = _die(harness, letters)
        database.call("vacuum analyze")
        by_hand, others = ids[:single], single // 4
        begun = time.perf_counter()
        for letter in by_hand:
            requeue_letter(harness.engine, letter, WHO)
        one_by_one = single / (time.perf_counter() - begun)
        resolved = _run(harness, RedriveVerb.RESOLVE, LetterFilter(ids=tuple(ids[single : single + others])))
        bulk = _run(harness, RedriveVerb.REQUEUE, LetterFilter(template="two"))
        check_invariants(database)
        database.dispose()
    return {
        "requeued_one_by_one_per_second": round(one_by_one),
        "resolved_by_redrive_per_second": round(resolved),
        "requeued_by_redrive_per_second": round(bulk),
        "ratio": round(bulk / one_by_one, 1),
    }


def _die(harness: Harness, count: int) -> list[UUID]:
    """Let workflows a → b die at b; return their letters."""
    harness.publish(shape("two", {"a": (), "b": "a"}))
    harness.play(b=always(PermanentError("card declined")))
    for start in range(0, count, CHUNK):
        harness.submit_many("t/two", [{"n": n} for n in range(start, min(count, start + CHUNK))])
        harness.run_until_quiet()
    return [row[0] for row in harness.database.call("select id from remand.dead_letters order by id")]


def _run(harness: Harness, verb: RedriveVerb, wanted: LetterFilter) -> float:
    """Carry a redrive out; return how many letters a second it dealt with."""
    made = redrive.plan(harness.engine, wanted, WHO, Options(verb=verb)).redrive
    redrive.start(harness.engine, made.id, WHO)
    begun = time.perf_counter()
    while redrive.get(harness.engine, made.id).waiting:
        sweep(harness.engine)
    return made.waiting / (time.perf_counter() - begun)


def _plan(cluster: Cluster, letters: int) -> dict[str, float]:
    with cluster.empty() as url:
        database = Database(url)
        schema.migrate(database)
        fill(database, letters, letters)
        harness = Harness(database)
        begun = time.perf_counter()
        made = redrive.plan(harness.engine, LetterFilter(), WHO, everything=True)
        whole = time.perf_counter() - begun
        begun = time.perf_counter()
        redrive.forecast(harness.engine, made.redrive.id)
        forecast = time.perf_counter() - begun
        database.dispose()
    return {
        "planned_letters": made.redrive.total,
        "plan_seconds": round(whole - forecast, 2),
        "forecast_seconds": round(forecast, 2),
    }


if __name__ == "__main__":
    main()
