"""The peer: the same shapes as Celery canvas with results in Redis, on the same broker, by the same pool."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

from celery import Celery, chain, chord
from celery.exceptions import TimeoutError as NotYet
from celery.result import AsyncResult

app = Celery(
    "canvas", broker=os.environ["REMAND_BROKER_URL"], backend=os.environ["REMAND_BROKER_URL"][:-1] + "1"
)
app.conf.update(
    task_default_queue="canvas",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    result_expires=600,
)


@app.task(name="canvas.noop")
def noop(n: int) -> dict[str, int]:
    """Do what a step of the benchmark does."""
    return {"n": n}


def shape(name: str, n: int) -> Any:
    """Return the canvas of one workflow."""
    if name == "chain":
        return chain(*(noop.si(n) for _ in range(4)))
    return chain(noop.si(n), chord([noop.si(n), noop.si(n)], noop.si(n)))


def throughput(name: str, workflows: int) -> float:
    """Submit and await `workflows`; return steps per second."""
    started = time.monotonic()
    results = [shape(name, n).apply_async() for n in range(workflows)]
    for result in results:
        _wait(result)
    taken = time.monotonic() - started
    # Results unsubscribe when they are collected: let them do so while the broker is there.
    del result, results
    gc.collect()
    return 4 * workflows / taken


def latencies(workflows: int) -> list[float]:
    """Run chains one at a time; return seconds each."""
    taken = []
    for n in range(workflows):
        started = time.monotonic()
        _wait(shape("chain", n).apply_async())
        taken.append(time.monotonic() - started)
    return taken


def _wait(result: AsyncResult[Any], seconds: float = 60) -> None:
    # Celery misses what is announced while it subscribes: only a look at what is stored ends such a wait.
    until = time.monotonic() + seconds
    while True:
        try:
            result.get(timeout=0.1)
        except NotYet:
            if not result.ready():
                if time.monotonic() > until:
                    raise
                continue
        if result.failed():
            raise RuntimeError(f"the canvas failed: {result.result!r}")
        return


def close() -> None:
    """Let results that are collected at exit find no broker to talk to."""
    gc.collect()
    consumer = app.backend.result_consumer
    consumer.stop()
    consumer._pubsub = None
