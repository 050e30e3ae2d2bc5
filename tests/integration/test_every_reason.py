"""Every reason for which a letter is opened, come by for real: no road leaves a field of the letter empty."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.states import CATEGORIES, DeadReason
from remand_app.engine.operate import Who
from remand_app.engine.operate.open_by_hand import open_dead_letter
from remand_app.engine.sweeps.expire import expire
from remand_app.engine.sweeps.never_ready import stalled
from remand_app.engine.sweeps.requeue import requeue
from remand_app.engine.sweeps.stale import stale
from remand_app.store.dead_letters import DeadLetter
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape

ANN = Who("ann", "the customer called: hold it")
MAY_BE_NULL = {"claimed_by", "claimed_at", "closed_by", "closed_at", "resolution", "follows", "requeue_at"}
MAY_BE_EMPTY = {"labels", "links", "metadata", "requeues"}


def submit(harness: Harness, error: BaseException | None = None) -> UUID:
    retry = {"max_attempts": 1, "lost_attempts": 1}
    harness.publish(shape("one", {"a": (), "b": "a"}, retry=retry, expire_after_seconds=7200))
    harness.play(**({} if error is None else {"a": always(error)}))
    return harness.submit("t/one")


def fails_for_good(harness: Harness) -> UUID:
    workflow = submit(harness, PermanentError("no"))
    harness.run_until_quiet()
    return workflow


def fails_too_often(harness: Harness) -> UUID:
    workflow = submit(harness, ConnectionResetError("reset"))
    harness.run_until_quiet()
    return workflow


def kills_its_worker(harness: Harness) -> UUID:
    workflow = submit(harness)
    harness.new_worker(hostname="gone@test").queue.claim("steps", 1)
    harness.clock.advance(3600)
    harness.run_until_quiet()
    return workflow


def expires(harness: Harness) -> UUID:
    """No worker ever came."""
    workflow = submit(harness)
    harness.clock.advance(7201)
    assert expire(harness.engine) == 1
    return workflow


def expires_on_the_way(harness: Harness) -> UUID:
    """A worker that lives has it, and is late."""
    workflow = submit(harness)
    harness.new_worker(hostname="late@test").queue.claim("steps", 1)
    harness.clock.advance(7201)
    assert expire(harness.engine) == 1
    return workflow


def is_taken_out(harness: Harness) -> UUID:
    workflow = submit(harness)
    open_dead_letter(harness.engine, workflow, ANN)
    return workflow


def is_taken_up_by_nobody(harness: Harness) -> UUID:
    workflow = submit(harness)
    harness.clock.advance(3600)
    assert stale(harness.engine).letters == 1
    return workflow


def is_stale(harness: Harness) -> UUID:
    """Nobody rescued it, nor woke it."""
    workflow = submit(harness)
    harness.new_worker(hostname="late@test").queue.claim("steps", 1)
    harness.clock.advance(7200)
    assert stale(harness.engine).letters == 1
    return workflow


def can_never_start(harness: Harness) -> UUID:
    """A hand on the database let its first step wait for the last."""
    workflow = submit(harness)
    harness.database.call("delete from remand.run_queue")
    harness.database.call(
        "update remand.steps set state = 'pending', enqueued_at = null, depends_on = '{b}', open_parents = 1"
        " where name = 'a'"
    )
    assert stalled(harness.engine) == 1
    return workflow


ROADS: dict[Callable[[Harness], UUID], DeadReason] = {
    fails_for_good: DeadReason.PERMANENT_FAILURE,
    fails_too_often: DeadReason.MAX_RETRIES_EXCEEDED,
    kills_its_worker: DeadReason.WORKER_LOST,
    expires: DeadReason.EXPIRED,
    expires_on_the_way: DeadReason.EXPIRED,
    is_taken_out: DeadReason.MANUAL_DLQ,
    is_taken_up_by_nobody: DeadReason.WORKER_UNAVAILABLE,
    is_stale: DeadReason.STALENESS_TIMEOUT,
    can_never_start: DeadReason.DEPENDENCY_CYCLE_DETECTED,
}
NEVER_RAN = (expires, is_taken_out, is_taken_up_by_nobody, can_never_start)


@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.__name__)
def test_a_letter_is_whole_whatever_opened_it(harness: Harness, road: Callable[[Harness], UUID]) -> None:
    workflow = road(harness)

    letter = harness.open_letter(workflow)

    assert letter.reason == ROADS[road]
    null = {name for name in DeadLetter.__slots__ if getattr(letter, name) is None}
    empty = {name for name in DeadLetter.__slots__ if getattr(letter, name) in ("", [], {}, 0)}
    assert null <= MAY_BE_NULL
    assert empty <= MAY_BE_EMPTY | ({"attempts"} if road in NEVER_RAN else set())
    assert letter.category in CATEGORIES
    assert letter.snapshot["workflow"]
    check_invariants(harness.database)


def test_every_reason_has_a_road() -> None:
    assert set(ROADS.values()) == set(DeadReason)


@pytest.mark.parametrize(("road", "goes_back"), [(expires, 1), (is_taken_out, 0)])
def test_what_a_person_took_out_never_goes_back_by_itself(
    harness_with: Callable[..., Harness], road: Callable[[Harness], UUID], goes_back: int
) -> None:
    harness = harness_with(dlq={"auto_requeue": {"enabled": True, "interval_seconds": 60}})
    road(harness)
    harness.advance(100)

    assert requeue(harness.engine).requeued == goes_back
