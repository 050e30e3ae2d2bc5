"""`make bench-dlq-api`: the API on a million dead letters, asked by eight clients at a time.

A database of its own is filled, a real server started, and each endpoint asked in turn. Arguments:
`--letters N` (default 1 000 000, a tenth of them open), `--requests N` for each endpoint (default 400),
`--clients N`.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from remand_app.config import Settings
from remand_app.domain.access import Role
from remand_app.engine import access
from remand_app.engine.operate import Who
from remand_app.runtime import Runtime
from remand_app.store import schema
from remand_app.store.database import Database
from remand_app.telemetry import configure_logging
from tests.benchmarks.letters import fill
from tests.benchmarks.site import kill
from tests.support.databases import Cluster
from tests.support.servers import servers

CEILING = "health"
LIMITS_MS = {"stats": 100.0}
LIMIT_MS = 20.0
Paths = Callable[[random.Random], str]


def main() -> None:
    """Run the benchmark; the last line of standard output is its result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.dlq_api", description=__doc__)
    parser.add_argument("--letters", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--only", help="one endpoint")
    options = parser.parse_args()
    configure_logging("WARNING")
    with servers(f"dlq-api-{os.getpid()}") as up, Cluster(up.database_url).empty() as database_url:
        settings = Settings(database_url=database_url, broker_url=up.broker_url)
        runtime = Runtime(settings)
        schema.migrate(runtime.database)
        begun = time.perf_counter()
        fill(runtime.database, options.letters, options.letters // 10)
        print(f"{options.letters:,} letters made in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
        _, token = access.create_token(runtime.engine, "bench", Role.VIEWER, Who("bench"))
        endpoints = _endpoints(runtime.database)
        if options.only:
            endpoints = {name: endpoints[name] for name in (CEILING, options.only)}
        with _server(settings) as (port, server):
            figures = {
                name: _measure(port, server, token, paths, options) for name, paths in endpoints.items()
            }
    _print(figures, options)


def _endpoints(database: Database) -> dict[str, Paths]:
    """Return what is asked, each time with other values: cursors, filters, ids."""
    letters = [str(row[0]) for row in database.call(
        "select id from remand.dead_letters where status in ('pending', 'investigating')"
        " order by md5(id::text) limit 2000"
    )]  # fmt: skip
    groups = [str(row[0]) for row in database.call("select id from remand.dead_letter_groups limit 5000")]
    filters = [
        "reason=permanent_failure", "error_class=shop.NoStock", "claimed_by=ada", "category=network",
        "reason=staleness_timeout&category=network", "status=requeued", "status=pending&dead_queue=default",
    ]  # fmt: skip

    def filtered(chance: random.Random) -> str:
        number = chance.randrange(40)
        by_template = f"template=template{number}&namespace=ns{number % 4}"
        return f"/dlq?limit=50&{chance.choice([*filters, by_template, f'group_id={chance.choice(groups)}'])}"

    return {
        CEILING: lambda _: "/health/live",
        "list": lambda chance: f"/dlq?limit=50{chance.choice(['', f'&cursor={chance.choice(letters)}'])}",
        "filtered_list": filtered,
        "groups": lambda chance: (
            f"/dlq/groups?limit=50{chance.choice(['', '&state=open', '&namespace=ns3'])}"
        ),
        "group": lambda chance: f"/dlq/groups/{chance.choice(groups)}",
        "entry": lambda chance: f"/dlq/{chance.choice(letters)}",
        "stats": lambda _: "/dlq/stats",
        "investigation_queue": lambda _: "/dlq/investigation-queue?limit=50",
    }


@contextmanager
def _server(settings: Settings) -> Iterator[tuple[int, psutil.Process]]:
    port = _free_port()
    environment = {
        **os.environ,
        "REMAND_DATABASE_URL": str(settings.database_url),
        "REMAND_BROKER_URL": str(settings.broker_url),
        "REMAND_WEB__PORT": str(port),
        "REMAND_LOG_LEVEL": "WARNING",
    }
    command = [sys.executable, "-m", "remand_app.server"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, stdout=out, stderr=out, env=environment, start_new_session=True,
                cwd=Path(__file__).parents[2],
            )  # fmt: skip
        try:
            _await(port, process, log)
            yield port, psutil.Process(process.pid)
        finally:
            kill(process)


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _await(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            if _ask(http.client.HTTPConnection("127.0.0.1", port, timeout=5), "/health/live", "")[0] == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not start:\n{log.read_text(errors='replace')[-3000:]}")


def _measure(port: int, server: psutil.Process, token: str, paths: Paths, options: Any) -> dict[str, float]:
    """Ask one endpoint from so many threads, each on a connection of its own."""
    each = max(1, options.requests // options.clients)
    took: list[float] = []
    failed: list[str] = []

    def ask(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        chance = random.Random(number)
        for turn in range(each + 3):
            path = paths(chance)
            begun = time.perf_counter()
            status, body = _ask(connection, path, token)
            if turn >= 3:  # the first ones open connections and fill caches
                took.append((time.perf_counter() - begun) * 1000)
            if status != 200:
                failed.append(f"{path}: {status} {body[:300]!r}")
                return

    begun, used = time.perf_counter(), cpu_of(server)
    threads = [threading.Thread(target=ask, args=(number,)) for number in range(options.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise RuntimeError("\n".join(failed[:3]))
    asked = (each + 3) * options.clients
    return {
        **_spread(took),
        "per_second": asked / (time.perf_counter() - begun),
        "cpu": (cpu_of(server) - used) / asked * 1000,
    }


def cpu_of(process: psutil.Process) -> float:
    """Return the processor seconds that a process has used; unlike times, its neighbours do not move it."""
    used = process.cpu_times()
    return float(used.user + used.system)


def _ask(connection: http.client.HTTPConnection, path: str, token: str) -> tuple[int, bytes]:
    connection.request("GET", f"/api/v1{path}", headers={"Authorization": f"Bearer {token}"})
    answered = connection.getresponse()
    return answered.status, answered.read()


def _spread(took: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    return {"p50": cuts[49], "p95": cuts[94], "max": max(took)}


def _print(figures: dict[str, dict[str, float]], options: Any) -> None:
    for name, one in figures.items():
        limit = LIMITS_MS.get(name, LIMIT_MS)
        told = "" if one["p95"] <= limit else f"   slower than {limit:.0f} ms"
        print(f"{name:<20} p50 {one['p50']:7.1f} ms   p95 {one['p95']:7.1f} ms   max {one['max']:7.1f} ms"
              f"   {one['per_second']:6.0f}/s   CPU {one['cpu']:4.1f} ms{told}", file=sys.stderr)  # fmt: skip
    ceiling = figures[CEILING]["p95"]
    print(
        json.dumps(
            {
                "p50_ms": {name: round(one["p50"], 2) for name, one in figures.items()},
                "p95_ms": {name: round(one["p95"], 2) for name, one in figures.items()},
                "p95_over_ceiling": {name: round(one["p95"] / ceiling, 1) for name, one in figures.items()},
                "server_cpu_ms": {name: round(one["cpu"], 2) for name, one in figures.items()},
                "letters": options.letters,
                "open": options.letters // 10,
                "clients": options.clients,
            }
        )
    )


if __name__ == "__main__":
    main()
