"""What was last seen is kept for some seconds; one looks at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from remand_app.engine.last_look import LastLook


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def never() -> int:
    raise AssertionError("it was looked at again")


def away() -> int:
    raise ConnectionError("away")


def test_what_was_seen_is_good_for_a_few_seconds_and_then_looked_at_anew() -> None:
    clock = Clock()
    last = LastLook[int](5.0, seconds=clock)
    assert not last.is_fresh
    assert last.get(lambda: 1) == 1

    clock.at += 4.9
    assert last.is_fresh
    assert last.get(never) == 1
    clock.at += 0.2
    assert not last.is_fresh
    assert last.get(lambda: 2) == 2
    assert last.seen == 2


def test_a_look_that_fails_is_an_error_and_the_next_one_looks_again() -> None:
    clock = Clock()
    last = LastLook[int](5.0, seconds=clock)
    last.get(lambda: 1)
    clock.at += 6

    for waits in (True, False):
        with pytest.raises(ConnectionError):
            last.get(away, waits=waits)
    assert last.get(lambda: 2) == 2


@pytest.mark.parametrize(("waits", "heard"), [(False, "before"), (True, "after")])
def test_who_asks_while_another_looks_hears_of_the_look_before_or_waits(waits: bool, heard: str) -> None:
    clock, looking, told = Clock(), threading.Event(), threading.Event()
    last = LastLook[str](5.0, seconds=clock)
    last.get(lambda: "before")
    clock.at += 6

    def slow() -> str:
        looking.set()
        assert told.wait(10)
        return "after"

    answers: list[str] = []

    def ask(look: Callable[[], str], waits: bool) -> threading.Thread:
        asker = threading.Thread(target=lambda: answers.append(last.get(look, waits=waits)))
        asker.start()
        return asker

    looker = ask(slow, True)
    assert looking.wait(10)
    other = ask(lambda: "looked twice", waits)
    if not waits:
        other.join(10)
    told.set()
    looker.join(10)
    other.join(10)

    assert sorted(answers) == sorted([heard, "after"])
    assert last.seen == "after"
