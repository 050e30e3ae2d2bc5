"""The explanation of a verdict: the same verdict, everything asked on the way, and nothing decided twice."""

from __future__ import annotations

import errno
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remand
from remand.classify import classify
from remand.classify_context import Considered
from remand.explain import Code, Explanation, explain
from remand.rules import BOOK
from remand.rules.user import FunctionRule, UserRule
from remand.stages import STAGES

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def fake(name: str, base: type[BaseException] = Exception, said: str = "look-alike", **facts: object) -> Any:
    module, _, cls = name.rpartition(".")
    made: Any = type(cls, (base,), {"__module__": module, "__qualname__": cls})(said)
    for fact, value in facts.items():
        setattr(made, fact, value)
    return made


def caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


def matched(explanation: Explanation) -> list[Considered]:
    return [one for one in explanation.considered if one.outcome == "matched"]


def test_it_is_told_how_a_code_won() -> None:
    found = explain(fake("shop.ApiError", ValueError, status_code=503, code="odd_code"), now=NOW)
    assert found.verdict.rule == "http.unavailable"
    assert found.considered == (
        Considered("own word", "shop.ApiError", "", None, "no rule"),
        Considered("registered rules", "shop.ApiError", "", None, "no rule"),
        Considered("group members", "shop.ApiError", "", None, "no rule"),
        Considered("type", "shop.ApiError", "", None, "no rule"),
        Considered("codes", "shop.ApiError", "error code oddcode", None, "no rule"),
        Considered("codes", "shop.ApiError", "error code …oddcode", None, "no rule"),
        Considered("codes", "shop.ApiError", "error code …code", None, "no rule"),
        Considered("codes", "shop.ApiError", "error code odd…", None, "no rule"),
        Considered("codes", "shop.ApiError", "HTTP 503", "http.unavailable", "matched"),
    )
    assert found.winner == found.considered[-1]
    assert found.codes == (
        Code("shop.ApiError", "api_code", "oddcode"),
        Code("shop.ApiError", "status", "503"),
    )
    assert found.wrappers == ()


def test_conditions_that_do_not_hold_are_told() -> None:
    found = explain(fake("shop.ApiError", status_code=403), now=NOW)
    asked = [one for one in found.considered if one.rule is not None]
    assert [one.outcome for one in asked[:-1]] == ["condition not met"] * (len(asked) - 1)
    assert "http.forbidden-asked" in {one.rule for one in asked}
    assert asked[-1] == found.winner


def test_what_is_looked_through_is_told_outermost_first() -> None:
    exc = caused(fake("shop.Outer"), caused(fake("shop.Middle"), ConnectionResetError(errno.ECONNRESET, "x")))
    found = explain(exc, now=NOW)
    assert found.wrappers == ("shop.Outer", "shop.Middle")
    assert found.winner is not None
    assert (found.winner.subject, found.winner.rule) == ("builtins.ConnectionResetError", "os.connection")
    assert Code("builtins.ConnectionResetError", "errno", "ECONNRESET") in found.codes


def test_a_group_is_told_by_the_member_that_settled_it() -> None:
    group = ExceptionGroup("both", [TimeoutError(), caused(fake("shop.Odd"), KeyError("x")), OSError()])
    found = explain(group, now=NOW)
    assert found.verdict.policy == "never"
    assert found.wrappers == ("builtins.ExceptionGroup", "shop.Odd")
    assert found.winner is not None
    assert found.winner.subject == "builtins.KeyError"


def test_users_rules_are_told_with_their_place() -> None:
    def declines(exc: BaseException) -> None:
        return None

    def fails(exc: BaseException) -> str:
        raise KeyError("no till")

    rules = [
        UserRule("mine.message", "network", errors=("shop.Locked",), message="till", source="remand.toml:7"),
        FunctionRule("mine.declines", declines),
        FunctionRule("mine.fails", fails),
        FunctionRule("mine.odd", lambda exc: 42),
        UserRule("mine.last", "resource", errors=("shop.Locked",)),
    ]
    book = BOOK.extended([("settings", rules)])
    found = explain(caused(RuntimeError(), fake("shop.Locked")), now=NOW, book=book)
    asked = [one for one in found.considered if one.subject == "shop.Locked"]
    assert [(one.key, one.rule, one.outcome, one.note) for one in asked] == [
        ("remand.toml:7", "mine.message", "condition not met", ""),
        ("settings", "mine.declines", "condition not met", "its function says that it is not its own"),
        ("settings", "mine.fails", "condition not met", "its function raised builtins.KeyError: 'no till'"),
        (
            "settings",
            "mine.odd",
            "condition not met",
            "its function returned builtins.int, which is no verdict",
        ),
        ("settings", "mine.last", "matched", ""),
    ]
    assert found.winner == asked[-1]
    assert found.wrappers == ("builtins.RuntimeError",)


def test_the_unknown_has_no_winner_and_every_stage_was_asked() -> None:
    found = explain(fake("shop.Odd"), now=NOW)
    assert (found.verdict.rule, found.winner, found.wrappers) == ("unclassified", None, ())
    assert list(dict.fromkeys(one.stage for one in found.considered)) == [name for name, _ in STAGES]


class Hostile(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class HostileKind(type):
    def __hash__(cls) -> int:
        raise RuntimeError("no")


class HostileClass(Exception, metaclass=HostileKind):
    pass


@pytest.mark.parametrize("make", [Hostile, HostileClass, lambda: caused(RuntimeError(), Hostile())])
def test_it_never_raises(make: Callable[[], BaseException]) -> None:
    exc = make()
    found = explain(exc)
    assert found.verdict.rule == "unclassified"
    assert found.verdict == classify(exc)


_exceptions = st.deferred(
    lambda: st.one_of(
        st.builds(lambda status: fake("shop.ApiError", status_code=status), st.integers(400, 599)),
        st.sampled_from([ValueError("x"), TimeoutError(), OSError(errno.ENOSPC, "full"), KeyError("k")]),
        st.builds(lambda: fake("shop.Slow", retry_after=3)),
        st.builds(lambda: fake("shop.Odd", said="connection refused")),
        st.builds(lambda: fake("redis.exceptions.ResponseError", said="OOM command not allowed")),
        st.builds(lambda inner: caused(fake("shop.Outer"), inner), _exceptions),
        st.builds(
            lambda members: ExceptionGroup("g", members), st.lists(_exceptions, min_size=1, max_size=3)
        ),
    )
)


@given(_exceptions)
def test_the_verdict_is_that_of_classify(exc: BaseException) -> None:
    found = explain(exc, now=NOW)
    assert found.verdict == classify(exc, now=NOW)
    if found.verdict.rule == "unclassified":
        assert found.winner is None
    else:
        assert found.winner in matched(found)
        assert found.winner.rule == found.verdict.rule


def test_it_is_exported() -> None:
    assert remand.explain is explain
    assert remand.explain(fake("shop.Slow", retry_after=3)).verdict.retry_after == timedelta(seconds=3)
