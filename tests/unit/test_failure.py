"""Any exception becomes a value that can be stored, whatever it does when it is looked at."""

from __future__ import annotations

import enum
import errno
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remand.errors import RateLimited
from remand.failure import Failure, capture, chain, cut, storable
from remand.fingerprint import fingerprint
from remand.redact import redact_text
from remand.rules import BOOK
from remand.rules.user import UserRule


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__

    def __reduce__(self) -> Any:
        raise TypeError("no pickles")


def deep(levels: int) -> None:
    if levels == 0:
        raise ValueError("bottom")
    deep(levels - 1)


def caught(run: Any, *args: Any) -> BaseException:
    try:
        run(*args)
    except BaseException as exc:
        return exc
    raise AssertionError("nothing was raised")


def test_round_trip_through_json() -> None:
    failure = capture(caught(deep, 2))
    assert Failure.from_json(json.loads(json.dumps(failure.to_json()))) == failure
    waiting = capture(RateLimited("slow down", retry_after=timedelta(seconds=2.5)))
    assert waiting.to_json()["classification"]["retry_after"] == 2.5
    assert Failure.from_json(waiting.to_json()).classification.retry_after == timedelta(seconds=2.5)


def test_names_class_message_and_place() -> None:
    failure = capture(caught(deep, 2))
    assert failure.error_class == "builtins.ValueError"
    assert failure.message == "bottom"
    assert "test_failure.py" in failure.traceback
    assert failure.traceback.rstrip().endswith("builtins.ValueError: bottom")


def test_survives_what_cannot_be_printed_or_pickled() -> None:
    failure = capture(Unprintable())
    assert failure.message == "[the exception cannot be printed]"
    assert failure.error_class.endswith("Unprintable")


def test_replaces_what_no_database_takes() -> None:
    failure = capture(ValueError("a\x00b\ud800c\U0001f600"))
    assert failure.message == "a\ufffdb\ufffdc\U0001f600"
    json.dumps(failure.to_json(), ensure_ascii=False).encode()


def test_cuts_the_middle_of_what_is_huge() -> None:
    failure = capture(ValueError("begin" + "x" * 3_000_000 + "end"))
    assert len(failure.message) <= 4096
    assert failure.message.startswith("begin")
    assert failure.message.endswith("end")
    assert "characters left out" in failure.message
    assert len(failure.traceback) <= 16384


def test_shortens_a_traceback_of_many_frames() -> None:
    failure = capture(caught(deep, 900))
    assert "frames left out" in failure.traceback
    assert len(failure.traceback) <= 16384
    assert "builtins.ValueError: bottom" in failure.traceback


def test_lists_each_cause_once_in_a_ring() -> None:
    first, second, third = ValueError("one"), KeyError("two"), OSError("three")
    first.__cause__, second.__cause__, third.__context__ = second, third, first
    failure = capture(first)
    assert failure.causes == ("builtins.KeyError: 'two'", "builtins.OSError: three")
    loop = ValueError("self")
    loop.__cause__ = loop
    assert capture(loop).causes == ()
    assert list(chain(loop)) == [loop]


def test_lists_the_members_of_a_group() -> None:
    failure = capture(ExceptionGroup("both", [ValueError("a"), ExceptionGroup("in", [KeyError("b")])]))
    assert set(failure.causes) == {"builtins.ValueError: a", "builtins.KeyError: 'b'"}


def test_redacts_every_text() -> None:
    try:
        try:
            raise OSError("password=hunter2")
        except OSError as inner:
            raise RuntimeError("redis://:hunter2@h") from inner
    except RuntimeError as exc:
        failure = capture(exc, redact=lambda text: redact_text(text, ["password"]))
    assert "hunter2" not in json.dumps(failure.to_json())
    assert "[redacted]" in failure.message


@pytest.mark.parametrize("limit", [0, 1, 10, 50, 100])
def test_cut_keeps_its_limit(limit: int) -> None:
    assert len(cut("x" * 1000, limit)) <= limit


@given(st.text(st.characters(codec=None)))
def test_every_text_becomes_storable(text: str) -> None:
    clean = storable(text)
    clean.encode("utf-8")
    assert "\x00" not in clean


class Enumerated(enum.IntEnum):
    BUSY = 503


class ApiError(ValueError):
    """Carries codes as clients do."""

    def __init__(self, message: str, **codes: object) -> None:
        super().__init__(message)
        self.__dict__.update(codes)


def test_keeps_what_rules_look_at() -> None:
    facts = capture(ApiError("no", status_code=Enumerated.BUSY, code="slow_down", type="busy")).to_json()[
        "facts"
    ]
    assert facts["codes"] == {"status": 503, "api_code": ["busy", "slow_down"]}
    assert type(facts["codes"]["status"]) is int
    assert facts["bases"][0].endswith(".ApiError")
    assert facts["bases"][-2:] == ["builtins.BaseException", "builtins.object"]
    assert "wrapped" not in facts
    assert json.loads(json.dumps(facts)) == facts


def test_keeps_the_facts_of_what_is_wrapped_nearest_first() -> None:
    outer, middle, inner = RuntimeError("a"), ApiError("b", status_code=404), OSError(errno.ENOSPC, "c")
    outer.__cause__, middle.__context__, inner.__cause__ = middle, inner, outer
    wrapped = capture(outer).facts["wrapped"]
    assert [(one["message"], one["codes"]) for one in wrapped] == [
        ("b", {"status": 404}),
        (f"[Errno {errno.ENOSPC}] c", {"errno": errno.ENOSPC}),
    ]
    group = ExceptionGroup("g", [ValueError(str(number)) for number in range(50)])
    assert len(capture(group).facts["wrapped"]) == 5


def test_facts_survive_hostility_and_are_redacted() -> None:
    facts = capture(ApiError("x", status_code=10**5000, errno=10**5000, code="secret=hunter2")).facts
    json.dumps(facts)
    assert capture(Unprintable()).facts["codes"] == {}
    hidden = capture(
        caused(RuntimeError("x"), OSError("password=hunter2")),
        redact=lambda text: redact_text(text, ["password"]),
    )
    assert "hunter2" not in json.dumps(hidden.to_json())


def caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


def test_fingerprint_is_of_what_is_stored() -> None:
    one, two = capture(ValueError("order 1 is gone")), capture(ValueError("order 22 is gone"))
    assert one.fingerprint == two.fingerprint == fingerprint("builtins.ValueError", one.message)
    assert capture(ValueError("no such order")).fingerprint != one.fingerprint
    silent = capture(caught(deep, 3)).fingerprint
    assert capture(ValueError()).fingerprint != silent
    assert capture(caught(silently)).fingerprint != capture(ValueError()).fingerprint


def silently() -> None:
    raise ValueError


def test_reads_rows_of_before() -> None:
    row = capture(ValueError("x")).to_json()
    del row["facts"], row["fingerprint"]
    failure = Failure.from_json(row)
    assert (failure.facts, failure.fingerprint) == ({}, "")


def test_classifies_by_the_book_it_is_given() -> None:
    book = BOOK.extended([("settings", [UserRule("mine", "network", errors=("ValueError",))])])
    assert capture(ValueError("x"), book=book).classification.rule == "mine"
    assert capture(ValueError("x")).classification.rule == "python.value"
