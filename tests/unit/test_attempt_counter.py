"""The counter's counts, shared by a drain and its monitor."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from remand_app.clock import DatabaseClock
from remand_app.engine import attempt_counter
from remand_app.engine.attempt_counter import AttemptCounter
from remand_app.store import attempt_counts
from remand_app.store.attempt_counts import Source
from remand_app.store.claims import Claim
from tests.support.waiting import eventually

COUNTED = 60_000


def a_claim(number: int) -> Claim:
    return cast(
        "Claim", SimpleNamespace(workflow_id=UUID(int=1), step=f"s{number}", template_id=1, handler="h")
    )


def test_what_one_thread_counts_while_another_flushes_is_counted_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: Counter[str] = Counter()
    turns = threading.Event()

    def count(_database: Any, _clock: Any, attempts: Any) -> None:
        for (source, _age), number in attempts.items():
            added[source.handler] += number
        turns.set()

    monkeypatch.setattr(attempt_counts, "count", count)
    monkeypatch.setattr(
        attempt_counter, "source_of", lambda _template, step, _handler: Source("n", step, "d")
    )
    templates: Any = SimpleNamespace(get=lambda _id: SimpleNamespace(template=None))
    seconds = iter(range(10**9))
    counter = AttemptCounter(
        cast("Any", None), templates, DatabaseClock(), seconds=lambda: float(next(seconds))
    )
    claims = [a_claim(number) for number in range(50)]
    counter.learn(claims)
    over = threading.Event()
    errors: list[Exception] = []

    def flush() -> None:
        while not over.is_set():
            try:
                counter.flush(now=True)
            except Exception as error:
                errors.append(error)
                return

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    monitor = threading.Thread(target=flush)
    monitor.start()
    try:
        for number in range(COUNTED):
            counter.count(claims[number % len(claims)])
        eventually(turns.is_set, timeout=30)
    finally:
        sys.setswitchinterval(interval)
        over.set()
        monitor.join()
    counter.flush(now=True)

    assert errors == []
    assert sum(added.values()) == COUNTED
