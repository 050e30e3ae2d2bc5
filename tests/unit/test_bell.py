"""The bell on kombu's broker in memory, with a clock and timers that the test moves."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery

import remand_app.bell
from remand_app.bell import (
    DENSE_SECONDS,
    FULL_SECONDS,
    LOOK_EVERY,
    WAITING_AT_MOST,
    WINDOW_SECONDS,
    CeleryBell,
    bell_to,
)
from remand_app.domain.errors import BrokerUnreachable
from tests.support.children import forked

_numbers = count(1)


class Time:
    """Monotonic time that stands still, and the timers that wait for it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def monotonic(self) -> float:
        return self.now

    def timer(self, seconds: float, call: Callable[[], None]) -> Any:
        return SimpleNamespace(start=lambda: self.timers.append((self.now + seconds, call)))

    def advance(self, seconds: float) -> None:
        """Let time go by, and the timers that are due run."""
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        for timer in due:
            self.timers.remove(timer)
            timer[1]()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    made = Time()
    monkeypatch.setattr(remand_app.bell, "time", SimpleNamespace(monotonic=made.monotonic))
    monkeypatch.setattr(remand_app.bell, "threading", SimpleNamespace(Lock=threading.Lock, Timer=made.timer))
    return made


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    calls: list[Callable[[], None]] = []
    monkeypatch.setattr(remand_app.bell, "atexit", SimpleNamespace(register=calls.append))
    return calls


@pytest.fixture
def bell(clock: Time, at_exit: list[Callable[[], None]]) -> CeleryBell:
    return CeleryBell(Celery("test", broker="memory://", set_as_current=False))


@pytest.fixture
def queue() -> str:
    """A queue of this test alone: the broker in memory is shared by the process."""
    return f"queue{next(_numbers)}"


def test_the_first_ring_goes_out_at_once(bell: CeleryBell, clock: Time, queue: str) -> None:
    bell.ring([queue])

    assert (bell.pending(queue), clock.timers) == (1, [])


def test_a_burst_is_the_first_ring_and_one_at_its_end(bell: CeleryBell, clock: Time, queue: str) -> None:
    for _ in range(100):
        bell.ring([queue])
    at_first = bell.pending(queue)
    timers = len(clock.timers)

    clock.advance(WINDOW_SECONDS)

    assert (at_first, timers) == (1, 1)
    assert bell.pending(queue) == 2
    clock.advance(WINDOW_SECONDS)
    assert bell.pending(queue) == 2, "what was rung is owed no more"


def test_a_burst_that_goes_on_rings_once_a_window(bell: CeleryBell, clock: Time, queue: str) -> None:
    for _ in range(100):
        bell.ring([queue])
        clock.advance(WINDOW_SECONDS / 10)

    assert bell.pending(queue) == 1 + 100 // 10


def test_rings_that_come_one_by_one_go_out_at_once(bell: CeleryBell, clock: Time, queue: str) -> None:
    for _ in range(10):
        bell.ring([queue])
        clock.advance(1.01 * DENSE_SECONDS)

    assert (bell.pending(queue), clock.timers) == (10, [])


def test_after_a_burst_a_ring_goes_out_at_once_again(bell: CeleryBell, clock: Time, queue: str) -> None:
    for _ in range(3):
        bell.ring([queue])
    clock.advance(WINDOW_SECONDS)
    clock.advance(2 * DENSE_SECONDS)

    bell.ring([queue])

    assert (bell.pending(queue), clock.timers) == (3, [])


def test_queues_do_not_quiet_each_other(bell: CeleryBell, clock: Time, queue: str) -> None:
    other = f"{queue}.other"

    bell.ring([queue, queue, other])
    bell.ring([queue])

    assert (bell.pending(queue), bell.pending(other)) == (1, 1)
    clock.advance(WINDOW_SECONDS)
    assert (bell.pending(queue), bell.pending(other)) == (2, 1)


def test_what_is_owed_is_rung_before_the_program_exits(
    bell: CeleryBell, at_exit: list[Callable[[], None]], queue: str
) -> None:
    bell.ring([queue])
    bell.ring([queue])

    for call in at_exit:
        call()

    assert bell.pending(queue) == 2


def test_nothing_owed_is_nothing_rung(bell: CeleryBell, queue: str) -> None:
    bell.ring([])
    bell.flush()

    assert bell.pending(queue) == 0


def test_a_queue_nobody_declared_has_no_bells(bell: CeleryBell) -> None:
    assert bell.pending("never heard of") == 0


def test_a_forked_process_owes_nothing_of_its_parents(bell: CeleryBell, clock: Time, queue: str) -> None:
    bell.ring([queue])
    bell.ring([queue])
    told, tell = os.pipe()

    def work() -> None:
        bell.flush()
        before = bell.pending(queue)
        bell.ring([queue])
        bell.ring([queue])
        os.write(tell, bytes([before, len(clock.timers)]))

    with forked(work):
        assert os.read(told, 2) == bytes([1, 2]), "one bell in the broker; a timer of its own beside ours"
    os.close(told)
    os.close(tell)

    clock.advance(WINDOW_SECONDS)
    assert bell.pending(queue) == 2


@pytest.mark.parametrize(("queue_name", "task"), [("steps", "drain"), ("retry.linear", "drain_failures")])
def test_a_bell_is_a_task_message_that_celery_understands(
    bell: CeleryBell, monkeypatch: pytest.MonkeyPatch, queue_name: str, task: str
) -> None:
    bell.ring([queue_name])

    with bell._app.connection_for_read() as connection, connection.channel() as channel:
        message = channel.basic_get(queue_name, no_ack=True)

    assert message.headers["task"] == f"remand.{task}"
    assert message.decode() == [[queue_name], {}, {}]
    assert message.headers["ignore_result"] is True
    assert message.headers["id"] == message.properties["correlation_id"]


# broker away


@pytest.fixture
def nobody() -> Iterator[str]:
    """The address of a broker that is away."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"redis://:secret@127.0.0.1:{held.getsockname()[1]}/0"


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    seen: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(remand_app.bell, "log", lambda event, **fields: seen.append((event, fields)))
    return seen


def test_a_ring_into_nowhere_is_logged_not_raised(
    clock: Time, at_exit: list[Any], nobody: str, events: list[tuple[str, dict[str, Any]]]
) -> None:
    bell = bell_to(nobody)

    bell.ring(["steps"])
    bell.flush()

    assert [(event, fields["queue"]) for event, fields in events] == [("bell.failed", "steps")]
    assert bell.pending("steps") == 0


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_whoever_rings_does_not_wait_for_a_broker_that_refuses(
    at_exit: list[Any], nobody: str, events: list[Any], scheme: str
) -> None:
    bell = bell_to(nobody.replace("redis", scheme))
    started = time.monotonic()

    bell.ring(["steps"])

    assert [event for event, _ in events] == ["bell.failed"]
    assert time.monotonic() - started < 1


def test_for_a_second_after_that_it_does_not_try_again(
    clock: Time, at_exit: list[Any], nobody: str, events: list[tuple[str, dict[str, Any]]]
) -> None:
    bell = bell_to(nobody)
    bell.ring(["steps"])
    tries = []
    for seconds in (0.5, 0.6):
        clock.advance(seconds)
        bell.ring(["steps"])
        tries.append(len(events))

    assert tries == [1, 2]


def test_a_queue_is_declared_again_after_the_broker_was_away(
    bell: CeleryBell, clock: Time, queue: str, events: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    bell.ring([queue])
    send = bell._send

    def broken(_: str) -> None:
        raise ConnectionResetError

    monkeypatch.setattr(bell, "_send", broken)
    clock.advance(1)
    bell.ring([queue])
    with bell._app.connection_for_write() as connection, connection.channel() as channel:
        channel.queue_delete(queue)  # what an emptied broker comes back with
    monkeypatch.setattr(bell, "_send", send)
    clock.advance(2)

    bell.ring([queue])

    assert bell.pending(queue) == 1


def test_a_check_names_the_broker_that_is_away_without_its_password(at_exit: list[Any], nobody: str) -> None:
    with pytest.raises(BrokerUnreachable, match="REMAND_BROKER_URL") as caught:
        bell_to(nobody).check()

    assert "127.0.0.1" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_check_of_a_broker_that_answers_says_nothing(bell: CeleryBell) -> None:
    bell.check()


def test_where_nobody_listens_bells_do_not_pile_up(bell: CeleryBell, clock: Time, queue: str) -> None:
    for _ in range(10 * WAITING_AT_MOST):
        bell.ring([queue])
        clock.advance(2 * FULL_SECONDS)

    assert bell.pending(queue) <= WAITING_AT_MOST + LOOK_EVERY


def test_programs_that_ring_once_do_not_pile_bells_up(
    clock: Time, at_exit: list[Callable[[], None]], queue: str
) -> None:
    for _ in range(2 * WAITING_AT_MOST):
        bell = CeleryBell(Celery("test", broker="memory://", set_as_current=False))
        bell.ring([queue])

    assert bell.pending(queue) == WAITING_AT_MOST


def test_a_queue_that_was_emptied_is_rung_again(bell: CeleryBell, clock: Time, queue: str) -> None:
    for _ in range(4 * WAITING_AT_MOST):
        bell.ring([queue])
        clock.advance(2 * DENSE_SECONDS)
    with bell._app.connection_for_read() as connection:
        connection.default_channel.queue_purge(queue)
    bell.ring([queue])
    at_once = bell.pending(queue)
    clock.advance(2 * FULL_SECONDS)
    bell.ring([queue])

    assert (at_once, bell.pending(queue)) == (0, 1)
