"""`make bench-history`: do steps go as fast beside five million finished workflows as beside none?

Two databases on one server, one empty, one filled by SQL with workflows of the last thirty days; workers are
started on each in turn, and what is measured is a ratio. Arguments: `--finished N` (default 5 000 000),
`--workflows N` of a turn (default 1000), `--turns N` (default 3).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

from remand_app.telemetry import configure_logging
from tests.benchmarks import finished, measures
from tests.benchmarks.site import Site, open_site
from tests.support.databases import Cluster

SINCE = "now() - interval '30 days'"


def main() -> None:
    """Run the benchmark; the last line of standard output is its result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.history", description=__doc__)
    parser.add_argument("--finished", type=int, default=5_000_000)
    parser.add_argument("--workflows", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    configure_logging("WARNING")
    with open_site() as empty:
        database_url, broker_url = str(empty.settings.database_url), str(empty.settings.broker_url)
        with Cluster(database_url).empty() as other:
            full = Site(empty.folder, other, broker_url)
            begun = time.perf_counter()
            finished.partitions_since(full.database, SINCE)
            finished.fill(full.database, "bench/chain", options.finished, SINCE, "now()")
            _say(f"{options.finished:,} finished workflows made in {time.perf_counter() - begun:.0f} s")
            figures = _in_turns(empty, full, options.turns, options.workflows)
            full.database.dispose()
    print(json.dumps({**figures, "finished": options.finished}))


def _in_turns(empty: Site, full: Site, turns: int, workflows: int) -> dict[str, float]:
    steps: dict[str, list[float]] = {"empty": [], "full": []}
    seconds: dict[str, list[float]] = {"empty": [], "full": []}
    for turn in range(turns):
        for name, site in (("empty", empty), ("full", full)):
            os.environ["REMAND_DATABASE_URL"] = str(site.settings.database_url)
            with site.worker(f"{name}-{turn}", ["steps"]):
                measures.throughput(site, "chain", 100, bulk=True)
                steps[name].append(
                    max(measures.throughput(site, "chain", workflows, bulk=True) for _ in range(2))
                )
                seconds[name] += measures.latencies(site, 40)
            _say(f"{name}: {steps[name][-1]:,.0f} steps/s")
    rates = {name: max(found) for name, found in steps.items()}
    waits = {name: measures.median(found) for name, found in seconds.items()}
    return {
        "ratio_steps": round(rates["full"] / rates["empty"], 3),
        # Above 1: quicker beside the finished ones.
        "ratio_latency": round(waits["empty"] / waits["full"], 3),
        "steps_per_s_empty": round(rates["empty"], 1),
        "steps_per_s_full": round(rates["full"], 1),
        "latency_ms_empty": round(waits["empty"] * 1000, 2),
        "latency_ms_full": round(waits["full"] * 1000, 2),
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
