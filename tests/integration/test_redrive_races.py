"""Redrives and others at the same letters at once, and processes that die between two lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from remand import PermanentError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import IllegalMove
from remand_app.domain.redrive import RedriveVerb, pace
from remand_app.engine import operate, redrive
from remand_app.engine.operate import Who, requeue_letter
from remand_app.engine.redrive import Options
from remand_app.engine.redrive import run as running
from remand_app.engine.redrive.run import advance
from remand_app.engine.sweeps.redrive import redrive as sweep
from remand_app.store import redrives
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape
from tests.support.threads import together, values

ANN = Who("ann", "fixed")
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


class Died(Exception):
    """The process ends here."""


def dead(harness: Harness, count: int) -> list[UUID]:
    """So many dead workflows that would go well now; return their letters."""
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", [None] * count)
    harness.run_until_quiet()
    harness.play()
    rows = harness.database.call("select id from remand.dead_letters where status = 'pending' order by id")
    return [row[0] for row in rows]


def start(harness: Harness, **options: Any) -> UUID:
    made = redrive.plan(harness.engine, LetterFilter(), ANN, Options(**options), everything=True).redrive
    return redrive.start(harness.engine, made.id, ANN).id


def states(harness: Harness, redrive_id: UUID) -> Counter[str]:
    page = redrive.items_page(harness.engine, redrive_id, limit=10_000)
    return Counter(str(one.state) for one in page.items)


def requeues(harness: Harness) -> list[int]:
    """How often each letter was requeued."""
    rows = harness.database.call(
        "select count(*) from remand.audit_log where verb = 'dead_letter.requeue' group by subject"
    )
    return [row[0] for row in rows]


def test_many_sweeps_at_once_send_each_letter_once(harness_with: Any) -> None:
    harness = harness_with(redrive_batch_size=7)
    dead(harness, 60)
    redrive_id = start(harness)

    values(together(*[lambda: sweep(harness.engine)] * 4))
    sweep(harness.engine)

    assert states(harness, redrive_id) == {"sent": 60}
    assert requeues(harness) == [1] * 60
    check_invariants(harness.database)


def test_two_sweeps_at_once_keep_to_one_rate(harness: Harness) -> None:
    dead(harness, 40)
    redrive_id = start(harness, rate_per_second=5)

    for _ in range(4):
        values(together(*[lambda: sweep(harness.engine)] * 3))
        sweep(harness.engine)
        harness.advance(1)

    assert states(harness, redrive_id) == {"sent": 20, "waiting": 20}


def test_two_redrives_of_the_same_letters_send_each_once(harness_with: Any) -> None:
    harness = harness_with(redrive_batch_size=5)
    dead(harness, 40)
    one, other = start(harness), start(harness)

    values(together(lambda: sweep(harness.engine), lambda: sweep(harness.engine)))
    sweep(harness.engine)

    first, second = states(harness, one), states(harness, other)
    assert first["sent"] + second["sent"] == 40
    assert first["skipped"] + second["skipped"] == 40
    assert requeues(harness) == [1] * 40
    check_invariants(harness.database)


def test_a_person_and_a_redrive_at_the_same_letter(harness_with: Any) -> None:
    harness = harness_with(redrive_batch_size=3)
    letters = dead(harness, 30)
    redrive_id = start(harness)

    def by_hand() -> int:
        won = 0
        for letter in letters:
            try:
                requeue_letter(harness.engine, letter, Who("bob"))
                won += 1
            except IllegalMove:
                continue
        return won

    won, _ = values(together(by_hand, lambda: sweep(harness.engine)))
    sweep(harness.engine)

    assert states(harness, redrive_id) == Counter({"sent": 30 - won, "skipped": won}) - Counter()
    assert requeues(harness) == [1] * 30
    check_invariants(harness.database)


def test_workers_settle_while_letters_are_sent(harness_with: Any) -> None:
    harness = harness_with(redrive_batch_size=4)
    dead(harness, 40)
    redrive_id = start(harness)
    workers = [harness.new_worker("steps", hostname=f"w{number}@test") for number in range(2)]

    def drain(worker: Any) -> None:
        for _ in range(30):
            worker.executor.run("steps")

    values(together(lambda: sweep(harness.engine), *[lambda w=w: drain(w) for w in workers]))
    harness.bell.rings = [one for one in harness.bell.rings if one == "steps"]
    harness.run_until_quiet()
    sweep(harness.engine)

    assert states(harness, redrive_id) == {"succeeded": 40}
    check_invariants(harness.database)


def test_pause_during_a_sweep_stops_after_the_batch_under_way(
    harness_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = harness_with(redrive_batch_size=5)
    dead(harness, 30)
    redrive_id = start(harness)
    real, seen = running.act, []

    with ThreadPoolExecutor(1) as threads:

        def act(*arguments: Any) -> Any:
            done = real(*arguments)
            if not seen:
                seen.append(threads.submit(redrive.pause, harness.engine, redrive_id, Who("bob")))
            return done

        monkeypatch.setattr(running, "act", act)
        sweep(harness.engine)
        seen[0].result(10)

    sent = states(harness, redrive_id)["sent"]
    assert redrive.get(harness.engine, redrive_id).state == "paused"
    assert sent % 5 == 0
    assert sweep(harness.engine).dealt_with == 0


@contextmanager
def dies(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Iterator[None]:
    """Let the process end right after this function has returned."""
    real = getattr(owner, name)

    def then_die(*arguments: Any, **named: Any) -> Any:
        real(*arguments, **named)
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, then_die)
        yield


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (redrives, "lock_redrive"),
        (running.redrive_items, "next_waiting"),
        (running.redrive_items, "requeue_letters"),
        (running, "act"),
        (running, "_count"),
        (running.redrive_items, "follow"),
        (running, "_decide"),
    ],
)
def test_whoever_dies_on_the_way_leaves_nothing_half_done(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    dead(harness, 4)
    redrive_id = start(harness, canary=(1,))
    if name == "follow":
        advance(harness.engine, redrive_id)
    before = harness.database.call("select id, status, metadata from remand.dead_letters order by id")

    with dies(monkeypatch, owner, name), pytest.raises(Died):
        advance(harness.engine, redrive_id)

    after = harness.database.call("select id, status, metadata from remand.dead_letters order by id")
    assert after == before
    check_invariants(harness.database)
    for _ in range(4):
        sweep(harness.engine)
        harness.bell.rings = ["steps"]
        harness.run_until_quiet()
    assert redrive.get(harness.engine, redrive_id).state == "finished"
    assert requeues(harness) == [1] * 4


def test_whoever_dies_after_the_commit_has_sent(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    dead(harness, 3)
    redrive_id = start(harness)

    with dies(monkeypatch, running, "_tell"), pytest.raises(Died):
        advance(harness.engine, redrive_id)

    assert states(harness, redrive_id) == {"sent": 3}
    harness.bell.take()
    harness.run_until_quiet()  # the ring sweep announces what nobody rang for
    sweep(harness.engine)
    assert states(harness, redrive_id) == {"succeeded": 3}


def test_a_single_verb_that_was_done_before_the_crash_counts(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(harness, 3)
    redrive_id = start(harness, verb=RedriveVerb.RESOLVE)

    with dies(monkeypatch, running, "act"), pytest.raises(Died):
        advance(harness.engine, redrive_id)
    sweep(harness.engine)

    assert states(harness, redrive_id) == {"succeeded": 3}
    assert harness.database.call(
        "select count(*) from remand.audit_log where verb = 'dead_letter.resolve'"
    ) == [(3,)]


def test_starting_twice_at_once_starts_once(harness: Harness) -> None:
    dead(harness, 1)
    made = redrive.plan(harness.engine, LetterFilter(), ANN, everything=True).redrive

    values(together(*[lambda: redrive.start(harness.engine, made.id, ANN)] * 3))

    assert harness.database.call("select count(*) from remand.audit_log where verb = 'redrive.start'") == [
        (1,)
    ]


def test_a_verb_of_its_own_and_cancel_agree(harness: Harness) -> None:
    letters = dead(harness, 1)
    redrive_id = start(harness, verb=RedriveVerb.CANCEL)
    operate.resolve_letter(harness.engine, letters[0], Who("bob"))

    sweep(harness.engine)

    [item] = redrive.items_page(harness.engine, redrive_id).items
    assert (item.state, item.reason) == ("skipped", "closed as manually_resolved by bob")


@pytest.mark.parametrize("rate", [0.5, 1, 7, 250])
@pytest.mark.parametrize("step", [0.01, 0.37, 1.0, 3.3])
def test_no_stretch_of_time_sees_more_than_the_rate_a_second_and_a_letter(rate: float, step: float) -> None:
    clock, paced_at, sends = FakeClock(NOON), None, []
    for _ in range(400):
        one = pace(rate, paced_at, clock.now)
        if one.allowed:
            paced_at = one.after(one.allowed)
            sends.append((clock.now, one.allowed))
        clock.advance(step)

    begun = NOON
    total = sum(count for _, count in sends)
    elapsed = (clock.now - begun).total_seconds()
    burst = 1.0 + 1 / rate
    assert total <= rate * (elapsed + burst) + 1e-6
    if step <= burst:
        assert total >= rate * elapsed - rate * burst - 1
    for start_at, _ in sends[:: max(1, len(sends) // 20)]:
        window = [count for at, count in sends if start_at <= at < start_at + timedelta(seconds=10)]
        assert sum(window) <= rate * (10 + burst) + 1e-6
