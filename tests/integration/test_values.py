"""What handlers return and raise, through the real executor: never stuck, never an error of the database."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from remand import PermanentError
from tests.support.engine import Harness
from tests.support.shapes import shape

ONE = shape("one", {"a": ()})
PAIR = shape("pair", {"a": (), "b": "a"})


class Opaque:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def cycle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def run_one(harness: Harness, part: Any) -> UUID:
    harness.publish(ONE)
    harness.play(a=part)
    workflow_id = harness.submit("t/one")
    harness.run_to_end(workflow_id)
    return workflow_id


NOT_JSON = {
    "nan": ([1.0, {"deep": float("nan")}], "[1].deep"),
    "infinity": ({"x": float("inf")}, "x"),
    "minus infinity": (float("-inf"), ""),
    "integer keys": ({1: (2, 3)}, "1"),
    "decimal": ({"d": Decimal("1.10")}, "d"),
    "datetime": ({"t": datetime(2026, 1, 1, tzinfo=UTC)}, "t"),
    "bytes": ({"b": b"\xff"}, "b"),
    "set": ({"s": {1}}, "s"),
    "lambda": ([lambda: None], "[0]"),
    "open file": ({"f": threading.Lock()}, "f"),
    "cycle": (cycle(), "[0]"),
    "no repr": ({"o": Opaque()}, "o"),
    "lone surrogate": ({"s": "\ud83d"}, "s"),
    "nul": ({"s": "a\x00b"}, "s"),
    "surrogate key": ({"\udcff": 1}, ""),
    "too deep": (deep(5_000), "["),
    "huge integer": ({"n": 10**5000}, "n"),
}


@pytest.mark.parametrize("name", NOT_JSON)
def test_a_result_that_is_not_json_fails_its_step_once_and_says_where(harness: Harness, name: str) -> None:
    value, path = NOT_JSON[name]

    workflow_id = run_one(harness, lambda ctx: value)

    [attempt] = harness.attempts(workflow_id)
    letter = harness.open_letter(workflow_id)
    assert attempt.policy == "never"
    assert (letter.category, letter.error_class) == ("validation", "remand_app.domain.errors.ResultInvalid")
    assert path in letter.error_message


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -1.5,
        "",
        "\N{GRINNING FACE}",
        [],
        {},
        {"a": [1, {"b": None}]},
        2**62,
        1.5e10,
        "\\u0000 as text",
    ],
    ids=repr,
)
def test_json_comes_out_as_it_went_in(harness: Harness, value: Any) -> None:
    harness.publish(PAIR)
    seen: list[Any] = []
    harness.play(a=lambda ctx: value, b=lambda ctx: seen.append(ctx.parents["a"]))
    workflow_id = harness.submit("t/pair", {"in": value})

    harness.run_to_end(workflow_id)

    assert seen == [value]
    assert harness.step(workflow_id, "a").result == value
    assert harness.workflow(workflow_id).input == {"in": value}


def test_both_attempts_see_the_same_parents(harness: Harness) -> None:
    harness.publish(PAIR)
    seen: list[str] = []

    def second(ctx: Any) -> None:
        seen.append(repr((ctx.parents, ctx.input)))
        if ctx.attempt == 1:
            raise ConnectionResetError

    harness.play(a=lambda ctx: {"t": (1, 2), "f": 1.0, "n": 10**15, "z": [], "e": "é"}, b=second)
    workflow_id = harness.submit("t/pair", {"k": [1.5, None]})

    assert harness.run_to_end(workflow_id).state == "complete"
    assert seen[0] == seen[1]


def test_a_result_above_the_limit_fails_as_validation(harness: Harness) -> None:
    workflow_id = run_one(harness, lambda ctx: "x" * 50_000_000)

    letter = harness.open_letter(workflow_id)
    assert (letter.category, letter.attempts) == ("validation", 1)
    assert "1048576" in letter.error_message.replace(",", "")
    assert len(letter.error_message) < 1000


def test_a_large_result_within_the_limit_is_kept(harness: Harness) -> None:
    workflow_id = run_one(harness, lambda ctx: "x" * 1_000_000)

    assert len(harness.step(workflow_id, "a").result) == 1_000_000


def test_the_good_of_a_batch_are_settled_beside_the_bad(harness: Harness) -> None:
    harness.publish(ONE)
    harness.play(a=lambda ctx: float("nan") if ctx.input % 2 else ctx.input)
    ids = harness.submit_many("t/one", range(20))

    harness.run_until_quiet()

    states = [str(harness.workflow(one).state) for one in ids]
    assert states == ["complete", "blocked_by_failures"] * 10


class NeedsThree(Exception):
    def __init__(self, a: int, b: int, c: int) -> None:
        self.a, self.b, self.c = a, b, c

    def __str__(self) -> str:
        return f"three: {self.a} {self.b} {self.c}"


class KeywordOnly(Exception):
    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")


class Doubles(Exception):
    def __init__(self, message: str) -> None:
        super().__init__(message + message)


class ReprRaises(Exception):
    def __repr__(self) -> str:
        raise ValueError("no repr")

    def __str__(self) -> str:
        raise ValueError("no str")


class Refuses(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("not to be pickled")

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return super().__getattribute__(name)
        raise RuntimeError(f"no {name}")


def looped() -> BaseException:
    a, b, c = ValueError("a"), ValueError("b"), ValueError("c")
    a.__cause__, b.__cause__, c.__cause__ = b, c, a
    return a


def itself() -> BaseException:
    error = ValueError("itself")
    error.__cause__ = error
    return error


HOSTILE = {
    "three arguments": (NeedsThree(1, 2, 3), "NeedsThree", "three: 1 2 3"),
    "an argument like it": (PermanentError(str(NeedsThree(1, 2, 3))), "PermanentError", "three: 1 2 3"),
    "keyword only": (KeywordOnly(code=7), "KeywordOnly", "code 7"),
    "doubles its message": (Doubles("once "), "Doubles", "once once "),
    "holds a lock": (RuntimeError("with lock", threading.Lock()), "RuntimeError", "with lock"),
    "holds a generator": (RuntimeError(n for n in range(3)), "RuntimeError", "generator"),
    "neither repr nor str": (ReprRaises(), "ReprRaises", ""),
    "refuses everything": (Refuses("stubborn"), "Refuses", "stubborn"),
    "ring of causes": (looped(), "ValueError", "a"),
    "cause of itself": (itself(), "ValueError", "itself"),
    "lone surrogate": (OSError(2, "gone", "caf\udcff"), "FileNotFoundError", "gone"),
    "nul": (ValueError("a\x00b"), "ValueError", "b"),
    "endless message": (ValueError("x" * 3_000_000), "ValueError", "left out"),
    "a group": (ExceptionGroup("both", [ValueError("one"), OSError("two")]), "ValueError", "one"),
    "system exit": (SystemExit(3), "SystemExit", "3"),
    "interrupt": (KeyboardInterrupt(), "KeyboardInterrupt", ""),
    "generator exit": (GeneratorExit(), "GeneratorExit", ""),
    "stop iteration": (StopIteration(4), "StopIteration", "4"),
    "cancelled": (asyncio.CancelledError(), "CancelledError", ""),
    "recursion": (RecursionError("maximum"), "RecursionError", "maximum"),
    "memory": (MemoryError(), "MemoryError", ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_is_raised_is_kept_under_its_own_class(harness: Harness, name: str) -> None:
    error, class_name, message = HOSTILE[name]

    def part(ctx: Any) -> None:
        raise error

    workflow_id = run_one(harness, part)

    letter = harness.open_letter(workflow_id)
    assert letter.error_class.rpartition(".")[2] == class_name
    assert message in letter.error_message
    for attempt in harness.attempts(workflow_id):
        assert attempt.outcome == "failed"


def test_endless_recursion_in_a_handler_is_a_failure_like_any_other(harness: Harness) -> None:
    def part(ctx: Any) -> Any:
        return part(ctx)

    workflow_id = run_one(harness, part)

    assert harness.open_letter(workflow_id).error_class == "builtins.RecursionError"


def test_the_executor_goes_on_after_every_hostile_handler(harness: Harness) -> None:
    harness.publish(ONE)
    errors = [error for error, _, _ in HOSTILE.values()]

    def part(ctx: Any) -> None:
        if ctx.input < len(errors):
            raise errors[ctx.input]

    harness.play(a=part)
    ids = harness.submit_many("t/one", range(len(errors) + 5))

    harness.drain()

    assert {str(harness.workflow(one).state) for one in ids[len(errors) :]} == {"complete"}


def test_a_returned_exception_is_no_result(harness: Harness) -> None:
    workflow_id = run_one(harness, lambda ctx: ValueError("returned, not raised"))

    assert harness.open_letter(workflow_id).error_class == "remand_app.domain.errors.ResultInvalid"


def test_a_dict_that_says_failed_is_a_result(harness: Harness) -> None:
    workflow_id = run_one(harness, lambda ctx: {"status": "failed"})

    assert harness.workflow(workflow_id).state == "complete"


def test_async_handlers_run_and_fail_like_others(harness: Harness) -> None:
    async def part(ctx: Any) -> dict[str, int]:
        await asyncio.sleep(0)
        if ctx.attempt == 1:
            raise ConnectionResetError
        return {"n": ctx.attempt}

    workflow_id = run_one(harness, part)

    assert harness.step(workflow_id, "a").result == {"n": 2}


def test_a_handler_class_is_made_once(harness: Harness) -> None:
    made: list[int] = []

    class Counts:
        def __init__(self) -> None:
            made.append(1)

        def __call__(self, ctx: Any) -> int:
            return len(made)

    harness.publish(ONE)
    harness.handlers.add("h", Counts)
    harness.submit_many("t/one", range(3))

    harness.run_until_quiet()

    assert made == [1]


@pytest.mark.parametrize("bad", [float("nan"), "x" * 2_000_000], ids=["nan", "too large"])
def test_a_checkpoint_that_cannot_be_saved_fails_the_step(harness: Harness, bad: Any) -> None:
    workflow_id = run_one(harness, lambda ctx: ctx.checkpoint(bad))

    letter = harness.open_letter(workflow_id)
    assert letter.category == "validation"
    assert "checkpoint" in letter.error_message


def test_a_heartbeat_of_a_step_that_was_taken_away_stops_the_handler(harness: Harness) -> None:
    went_on: list[int] = []

    def part(ctx: Any) -> None:
        harness.database.call("delete from remand.workers")
        harness.sweep_rescue()
        ctx.heartbeat()
        went_on.append(1)

    harness.publish(shape("one", {"a": ()}, retry={"lost_attempts": 1}))
    harness.play(a=part)
    workflow_id = harness.submit("t/one")

    harness.drain()

    assert went_on == []
    assert [one.outcome for one in harness.attempts(workflow_id)] == ["lost"]


def test_a_file_name_that_is_no_text_is_kept_in_replaced_form(harness: Harness, tmp_path: Path) -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")

    workflow_id = run_one(harness, lambda ctx: Path(tmp_path / name).read_text())

    letter = harness.open_letter(workflow_id)
    assert letter.error_class == "builtins.FileNotFoundError"
    assert "caf" in letter.error_message
