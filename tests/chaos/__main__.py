"""`make chaos`: thousands of workflows under random faults; prints what it does, and one JSON line last.

Exits with 1 if anything is not as it must be; then the folder with all logs is kept, and named.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from remand_app.telemetry import configure_logging
from tests.chaos.run import Order, own_ground, run
from tests.support.brokers import clean_broker, rabbitmq_url
from tests.support.databases import Cluster
from tests.support.own_servers import OwnRabbit


def main() -> int:
    """Run it; the last line of standard output is its verdict as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--workflows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--minutes", type=float, default=5.0, help="how long faults come")
    parser.add_argument("--broker", choices=("redis", "rabbitmq"), default="redis")
    parser.add_argument("--database", default="", help="URL of a server to use instead of an own one")
    parser.add_argument("--kinds", default="", help="only these kinds of fault, by name, with commas")
    options = parser.parse_args()
    configure_logging("ERROR")
    kinds = tuple(name for name in options.kinds.split(",") if name)
    order = Order(options.workflows, options.seed, options.minutes * 60, (1.0, 5.0), kinds)
    print(f"seed {order.seed}, {order.workflows} workflows, faults for {order.seconds:g} s", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="remand-chaos-"))
    with ExitStack() as stack:
        database_url = broker_url = ""
        if options.database:
            cluster = Cluster(options.database)
            stack.enter_context(cluster.template())
            database_url = stack.enter_context(cluster.fresh())
        if options.broker == "rabbitmq" and not OwnRabbit.is_installed():
            broker_url = stack.enter_context(clean_broker(rabbitmq_url(), 0))
        ground, planned = stack.enter_context(
            own_ground(folder, order, broker=options.broker, broker_url=broker_url, database_url=database_url)
        )
        verdict = run(order, ground, planned, lambda said: print(said, flush=True))
    for problem in verdict.problems:
        print(f"PROBLEM  {problem}")
    if verdict.problems:
        print(f"logs: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(verdict.as_json())
    return bool(verdict.problems)


if __name__ == "__main__":
    sys.exit(main())
