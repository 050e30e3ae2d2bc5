"""One workflow that a sweep breaks on holds up no other: the sweep goes on, and says so at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from remand.errors import PermanentError
from remand_app.engine import operate
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.engine.operate.breakers import close_breaker, open_breaker
from remand_app.engine.sweeps.expire import expire
from remand_app.engine.sweeps.never_ready import stalled
from remand_app.engine.sweeps.requeue import requeue
from remand_app.engine.sweeps.rescue import rescue
from remand_app.engine.sweeps.ring import ring
from remand_app.engine.sweeps.stale import stale
from remand_app.store.claims import Completed
from remand_app.store.workflows import lock_workflow
from tests.support.engine import Harness
from tests.support.refusals import refusing
from tests.support.shapes import always, shape

DAY = 86_400.0


def old(harness: Harness, **top: Any) -> list[UUID]:
    harness.publish(shape("old", {"a": ()}, **top))
    ids = harness.submit_many("t/old", range(5))
    harness.advance(2 * DAY)
    return ids


def expiring(harness: Harness) -> list[UUID]:
    return old(harness, expire_after_seconds=DAY)


def standing(harness: Harness) -> list[UUID]:
    harness.publish(shape("still", {"a": ()}))
    ids = harness.submit_many("t/still", range(5))
    harness.database.call("update remand.steps set state = 'pending', enqueued_at = null, open_parents = 1")
    harness.database.call("delete from remand.run_queue")
    return ids


def failed(harness: Harness) -> list[UUID]:
    auto = {"auto_requeue": {"enabled": True, "interval_seconds": 60}}
    harness.publish(shape("bad", {"a": ()}, dead_letters=auto))
    harness.play(a=always(PermanentError("no")))
    ids = harness.submit_many("t/bad", range(5))
    harness.run_until_quiet()
    harness.advance(2 * DAY)
    return ids


SWEEPS: dict[str, tuple[Callable[[Harness], list[UUID]], Callable[[Engine], object], str, str]] = {
    "expire": (
        lambda one: old(one, expire_after_seconds=DAY),
        expire,
        "insert on remand.dead_letters",
        "error",
    ),
    "stale": (old, stale, "insert on remand.dead_letters", "error"),
    "stalled": (standing, stalled, "insert on remand.dead_letters", "error"),
    "requeue": (failed, requeue, "update on remand.dead_letters", "enqueued"),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_passes_over_what_it_breaks_on(harness: Harness, name: str) -> None:
    make, sweep, refused, then = SWEEPS[name]
    ids = make(harness)
    before = harness.states(ids[2])

    with refusing(harness.database, refused, ids[2]), pytest.raises(DBAPIError, match="no such luck"):
        sweep(harness.engine)

    assert [harness.states(one)["a"] for one in ids if one != ids[2]] == [then] * 4
    assert harness.states(ids[2]) == before
    sweep(harness.engine)
    assert harness.states(ids[2])["a"] == then


def waiting(harness: Harness) -> list[UUID]:
    harness.publish(shape("again", {"a": ()}))
    harness.play(a=always(ConnectionResetError("reset")))
    ids = harness.submit_many("t/again", range(5))
    harness.run_until_quiet()
    harness.play()
    harness.advance(DAY / 24)
    return ids


def parked(harness: Harness) -> list[UUID]:
    harness.publish(shape("parked", {"a": ()}))
    ids = harness.submit_many("t/parked", range(5))
    claims = harness.worker.queue.claim("steps", 5)
    with harness.database.begin() as connection:
        for one in ids:
            lock_workflow(connection, one)
        harness.worker.queue.settle([Completed(claim, "1") for claim in claims], "steps", 5)
    return ids


def before_an_open_breaker(harness: Harness) -> list[UUID]:
    harness.publish(shape("held", {"a": ()}))
    open_breaker(harness.engine, "h", by="ann", seconds=3600)
    return harness.submit_many("t/held", range(5))


def behind_an_open_breaker(harness: Harness) -> list[UUID]:
    ids = before_an_open_breaker(harness)
    ring(harness.engine)
    return ids


def close_and_ring(engine: Engine) -> None:
    close_breaker(engine, "h", by="ann")
    for _ in range(6):
        engine.clock.advance(10)  # type: ignore[attr-defined]  # the tests' own
        ring(engine)


def paused(harness: Harness) -> list[UUID]:
    harness.publish(shape("paused", {"a": ()}))
    ids = harness.submit_many("t/paused", range(5))
    claims = harness.worker.queue.claim("steps", 5)
    for one in ids:
        operate.pause_workflow(harness.engine, one, Who("ann"))
    with harness.database.begin() as connection:
        for one in ids:
            lock_workflow(connection, one)
        harness.worker.queue.give_back(claims)
    return ids


CHOOSING: dict[str, tuple[Callable[[Harness], list[UUID]], Callable[[Engine], object], str]] = {
    "due retries": (waiting, ring, "enqueued"),
    "parked results": (parked, rescue, "complete"),
    "held back": (before_an_open_breaker, ring, "waiting_for_retry"),
    "let through": (behind_an_open_breaker, close_and_ring, "enqueued"),
    "withdrawn": (paused, ring, "pending"),
}


@pytest.mark.parametrize("name", CHOOSING)
def test_a_statement_that_chooses_and_moves_passes_over_it_too(harness: Harness, name: str) -> None:
    make, sweep, then = CHOOSING[name]
    ids = make(harness)
    before = harness.states(ids[2])

    with capture_logs() as lines, refusing(harness.database, "update on remand.steps", ids[2]):
        harness.worker.beat()
        sweep(harness.engine)

    assert [harness.states(one)["a"] for one in ids if one != ids[2]] == [then] * 4
    assert harness.states(ids[2]) == before
    assert {line["workflow_id"] for line in lines if line["event"] == "sweep.passed_over"} == {str(ids[2])}
    sweep(harness.engine)
    assert harness.states(ids[2])["a"] == then
