"""`make bench-archive`: how long does live work wait while a month is archived, and how fast are batches?

Two months are filled by SQL with complete workflows of four steps, and each gets some that still live. One
goes whole, while workflows are submitted all the time; the other goes in batches. Arguments: `--workflows N`
of the first month (default 1 000 000), `--batched N` of the other (default 100 000), `--stragglers N`
(default 100), `--url URL` of a database to fill (default: servers of its own).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from remand_app.config import Settings
from remand_app.domain.partitions import Interval, Period, whole_period
from remand_app.engine.archive import run
from remand_app.engine.engine import Engine
from remand_app.engine.publish import publish
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.runtime import Runtime
from remand_app.store import archive_runs, new_periods, schema
from remand_app.store.ids import first_id_at
from remand_app.store.new_periods import Patience
from remand_app.telemetry import configure_logging
from tests.benchmarks import finished
from tests.support.databases import Cluster
from tests.support.servers import servers

REF = "bench/chain"
_WHOLE, _BATCHED = timedelta(days=95), timedelta(days=130)
_PAUSE_SECONDS = 0.002


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; the last line of standard output is its result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.archive", description=__doc__)
    parser.add_argument("--workflows", type=int, default=1_000_000)
    parser.add_argument("--batched", type=int, default=100_000)
    parser.add_argument("--stragglers", type=int, default=100)
    parser.add_argument("--url", help="a database that may be filled")
    options = parser.parse_args(arguments)
    configure_logging("WARNING")
    if options.url:
        figures = measure(options.url, options.workflows, options.batched, options.stragglers)
    else:
        with servers(f"archive-{os.getpid()}") as up, Cluster(up.database_url).empty() as url:
            figures = measure(url, options.workflows, options.batched, options.stragglers)
    print(json.dumps(figures))


def measure(url: str, workflows: int, batched: int, stragglers: int) -> dict[str, float]:
    """Return the figures; the database is left with what was archived."""
    schema.migrate(Runtime(Settings(database_url=url)).database)
    figures = {**_whole(url, workflows, stragglers), **_in_batches(url, batched)}
    return {**figures, "workflows": workflows, "batched": batched, "stragglers": stragglers}


def _whole(url: str, workflows: int, stragglers: int) -> dict[str, float]:
    # Longer than the goal: a slow server is to be measured, not put off.
    engine = _engine(url, most_stragglers=stragglers, hold_seconds=10)
    _fill(engine, _month(_WHOLE), workflows, stragglers)
    begun = time.perf_counter()
    with _live_work(engine) as waits:
        swept = run(engine)
    total = time.perf_counter() - begun
    assert (swept.workflows, swept.stayed, swept.periods) == (workflows, stragglers, 1), swept
    [done] = archive_runs.runs(engine.database, limit=1)
    assert done.verified_at is not None
    assert done.lock_ms is not None
    _say(f"whole: {workflows:,} workflows in {total:.1f} s, locked for {done.lock_ms:.0f} ms")
    engine.database.dispose()
    return {
        "lock_ms": round(done.lock_ms, 1),
        "total_s": round(total, 2),
        # What somebody who submits saw: the lock, the commit, and a busy server.
        "longest_submit_ms": round(1000 * max(waits), 1),
    }


def _in_batches(url: str, workflows: int) -> dict[str, float]:
    engine = _engine(url, most_stragglers=0)
    _fill(engine, _month(_BATCHED), workflows, 1)
    begun = time.perf_counter()
    swept = run(engine)
    total = time.perf_counter() - begun
    assert swept.workflows == workflows, swept
    [done] = archive_runs.runs(engine.database, limit=1)
    rows = sum(done.sums.counts)
    _say(f"batches: {rows:,} rows in {total:.1f} s")
    engine.database.dispose()
    return {"batch_rows_per_s": round(rows / total, 1)}


def _engine(url: str, **archive: float) -> Engine:
    settings = Settings.model_validate(
        {"database_url": url, "archive": {"budget_seconds": 86_400, **archive}}
    )
    engine = Runtime(settings).engine
    publish(engine.templates, [Path(__file__).parent / "templates.yaml"])
    return engine


def _month(ago: timedelta) -> Period:
    return whole_period(Interval.MONTHLY, datetime.now(UTC) - ago)


def _fill(engine: Engine, month: Period, workflows: int, stragglers: int) -> None:
    begun = time.perf_counter()
    new_periods.make_period(engine.database, month, datetime.now(UTC), Patience())
    last = month.ends_at - timedelta(seconds=1)
    finished.fill(
        engine.database, REF, workflows, f"timestamptz '{month.starts_at}'", f"timestamptz '{last}'"
    )
    begin = first_id_at(month.starts_at).int
    for _ in range(stragglers):
        submit(engine, REF, SubmitRequest({}, id=UUID(int=begin + uuid4().int % 2**60)), by="bench")
    _say(f"{workflows:,} finished workflows made in {time.perf_counter() - begun:.0f} s")


@contextmanager
def _live_work(engine: Engine) -> Iterator[list[float]]:
    """Submit all the time, and note how long each took, in seconds."""
    waits, over = [0.0], threading.Event()

    def work() -> None:
        while not over.wait(_PAUSE_SECONDS):
            begun = time.perf_counter()
            submit(engine, REF, SubmitRequest({}), by="bench")
            waits.append(time.perf_counter() - begun)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield waits
    finally:
        over.set()
        thread.join()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
