"""What is measured of Remand: throughput, its ceiling, latency, costs of a workflow, time to rescue."""

from __future__ import annotations

import json
import multiprocessing
import os
import statistics
import time
from pathlib import Path
from typing import Any
from uuid import UUID

from remand_app.engine.submit import SubmitRequest, submit, submit_many
from remand_app.store.claims import Completed
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.run_queue import RunQueue
from tests.benchmarks.site import SUPPORT_QUEUES, Site, cpu_seconds, kill, worker_arguments

INPUT = {"n": 1, "customer": "x" * 100}
_STATE = "select state from remand.workflows where id = %s"
_COUNT = "select count(*) from remand.workflows where state <> 'complete' and id = any(%s::uuid[])"


def await_complete(site: Site, ids: list[UUID], timeout: float = 60) -> None:
    """Return once all workflows are complete, looking 200 times a second."""
    until = time.monotonic() + timeout
    while site.database.call(_COUNT, (ids,))[0][0]:
        site.check_alive()
        if time.monotonic() > until:
            raise TimeoutError("workflows did not complete in time")
        time.sleep(0.005)


def throughput(site: Site, shape: str, workflows: int, *, bulk: bool) -> float:
    """Submit, in bulk or one by one, and await; return steps per second."""
    engine = site.runtime.engine
    requests = [SubmitRequest({**INPUT, "n": n}) for n in range(workflows)]
    started = time.monotonic()
    if bulk:
        answers = submit_many(engine, f"bench/{shape}", requests, by="bench")
    else:
        answers = [submit(engine, f"bench/{shape}", request, by="bench") for request in requests]
    await_complete(site, [answer.workflow_id for answer in answers])
    return 4 * workflows / (time.monotonic() - started)


def cpu_us_per_step(site: Site, shape: str, workflows: int, pids: list[int]) -> float:
    """Return the CPU that workers, Postgres and broker burn for a step, in µs; submission included."""
    before = cpu_seconds(*pids)
    throughput(site, shape, workflows, bulk=True)
    return (cpu_seconds(*pids) - before) / (4 * workflows) * 1e6


def ceiling(site: Site, shape: str, workflows: int) -> float:
    """Do the same claims and settles in two bare processes, without Celery; return steps per second."""
    requests = [SubmitRequest({**INPUT, "n": n}) for n in range(workflows)]
    engine = site.runtime.engine
    # As warm as the workers are: plans are made before the clock starts.
    submit_many(engine, f"bench/{shape}", requests[:100], by="bench")
    assert site.settings.database_url is not None
    context = multiprocessing.get_context("spawn")
    ready, go = context.Barrier(3), context.Event()
    processes = [
        context.Process(target=_bare_loop, args=(site.settings.database_url, ready, go)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    ready.wait(60)
    started = time.monotonic()
    answers = submit_many(engine, f"bench/{shape}", requests, by="bench")
    go.set()
    await_complete(site, [answer.workflow_id for answer in answers])
    taken = time.monotonic() - started
    for process in processes:
        process.join(300)
    return 4 * workflows / taken


def _bare_loop(url: str, ready: Any, go: Any) -> None:
    from remand_app.clock import DatabaseClock

    queue = RunQueue(
        Database(url), DatabaseClock(), worker=new_id(), pid=os.getpid(), timeout_seconds=60, slack_seconds=30
    )
    _drain_bare(queue, 5)
    ready.wait(60)
    go.wait(60)
    _drain_bare(queue, 50)


def _drain_bare(queue: RunQueue, k: int) -> None:
    while claims := queue.claim("steps", k):
        while claims:
            results = [Completed(claim, json.dumps({"n": claim.input["n"]})) for claim in claims]
            claims = queue.settle(results, "steps", k).claims


def latencies(site: Site, workflows: int) -> list[float]:
    """Run chains one at a time; return seconds from submit to complete, each."""
    taken = []
    for n in range(workflows):
        started = time.monotonic()
        answer = submit(site.runtime.engine, "bench/chain", SubmitRequest({**INPUT, "n": n}), by="bench")
        while site.database.call(_STATE, (answer.workflow_id,))[0][0] != "complete":
            time.sleep(0.001)
        taken.append(time.monotonic() - started)
    return taken


def costs(site: Site, workflows: int) -> dict[str, float]:
    """Run chains one at a time in this process, nothing else running; return rows, commits and WAL of one."""
    drain = site.runtime.drain(new_id())
    from remand.handler import registry
    from tests.benchmarks import handlers

    assert registry.find("bench.noop") is handlers.noop
    database = site.database
    _run_one(site, drain)
    before = _counters(database)
    for _ in range(workflows):
        _run_one(site, drain)
    after = _counters(database)
    return {
        "rows": round((after["rows"] - before["rows"]) / workflows, 2),
        "commits": round((after["commits"] - before["commits"]) / workflows, 2),
        "wal_kb": round((after["wal"] - before["wal"]) / workflows / 1024, 2),
    }


def _run_one(site: Site, drain: Any) -> None:
    submit(site.runtime.engine, "bench/chain", SubmitRequest(INPUT), by="bench")
    drain.run("steps")


def _counters(database: Database) -> dict[str, float]:
    database.call("select pg_stat_force_next_flush()")
    database.call("select 1")
    rows = database.call(
        "select (select sum(n_tup_ins) from pg_stat_user_tables where schemaname = 'remand'"
        " and relname not like 'run_queue%%'),"
        " (select xact_commit from pg_stat_database where datname = current_database()),"
        " pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"
    )
    return {"rows": float(rows[0][0]), "commits": float(rows[0][1]), "wal": float(rows[0][2])}


def rescue_seconds(site: Site, times: int) -> list[float]:
    """Kill a whole worker mid-step, another alive; return seconds until the second attempt runs."""
    folder = site.folder / "caught"
    folder.mkdir(exist_ok=True)
    taken = []
    spare = site.start("spare", *worker_arguments("spare-0", ["caught"], 1))
    try:
        for n in range(times):
            victim = spare
            answer = submit(
                site.runtime.engine,
                "bench/caught",
                SubmitRequest({"n": n, "folder": str(folder)}),
                by="bench",
            )
            _await_file(folder / f"started-{answer.workflow_id}-1")
            spare = site.start("spare", *worker_arguments(f"spare-{n + 1}", ["caught"], 1))
            _await_worker(site.database, f"spare-{n + 1}@bench")
            killed = time.monotonic()
            kill(victim)
            _await_file(folder / f"started-{answer.workflow_id}-2")
            taken.append(time.monotonic() - killed)
    finally:
        kill(spare)
    return taken


def _await_file(path: Path, timeout: float = 60) -> None:
    until = time.monotonic() + timeout
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{path.name} did not appear")
        time.sleep(0.005)


def _await_worker(database: Database, hostname: str, timeout: float = 60) -> None:
    until = time.monotonic() + timeout
    while not database.call("select 1 from remand.workers where hostname = %s", (hostname,)):
        if time.monotonic() > until:
            raise TimeoutError(f"worker {hostname} did not register")
        time.sleep(0.02)


def percentile(values: list[float], share: float) -> float:
    """Return the value below which `share` of the sorted values lie."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def median(values: list[float]) -> float:
    """Return the median."""
    return statistics.median(values)


__all__ = [
    "SUPPORT_QUEUES",
    "await_complete",
    "ceiling",
    "costs",
    "cpu_us_per_step",
    "latencies",
    "median",
    "percentile",
    "rescue_seconds",
    "throughput",
]
