"""Rules that users add: when they hold, whose word counts first, what is refused and what contradicts."""

from __future__ import annotations

import errno
import pickle
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

import remand
from remand.classify import Classification, classify
from remand.errors import PermanentError
from remand.rules import BOOK, POLICY_OF
from remand.rules import user as user_rules
from remand.rules.user import AnyRule, FunctionRule, UserRule, Verdict, conflicts, registered, rule

NOW = datetime(2026, 11, 27, tzinfo=UTC)


class Locked(Exception):
    """What users' code raises."""


class LockedForLong(Locked):
    """A subclass of it."""


LOCKED = f"{Locked.__module__}.Locked"


def fake(name: str, base: type[BaseException] = Exception, said: str = "look-alike", **facts: object) -> Any:
    module, _, cls = name.rpartition(".")
    made: Any = type(cls, (base,), {"__module__": module, "__qualname__": cls})(said)
    for fact, value in facts.items():
        setattr(made, fact, value)
    return made


def judged(exc: BaseException, *rules: AnyRule, under: tuple[AnyRule, ...] = ()) -> Classification:
    return classify(exc, now=NOW, book=BOOK.extended([("step", rules), ("settings", under)]))


def caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


BUSY = UserRule("shop.busy", "resource", errors=(LOCKED,), reason="the till is in use", source="remand.toml")


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_rules, "_registered", {})


def test_a_class_and_its_subclasses() -> None:
    found = judged(LockedForLong("till 3"), BUSY)
    assert (found.category, found.policy, found.rule) == ("resource", "linear", "shop.busy")
    assert found.confidence == 1
    assert found.explanation == f"{__name__}.LockedForLong: the till is in use (remand.toml)"
    assert judged(fake("other.shop.Locked"), BUSY).rule == "unclassified"


def test_names_without_a_module_are_pythons_own() -> None:
    mine = UserRule("mine", "network", errors=("IOError", "builtins.EnvironmentError", "KeyError"))
    assert judged(OSError("x"), mine).rule == "mine"
    assert judged(KeyError("x"), mine).rule == "mine"
    assert judged(fake("shop.KeyError"), mine).rule == "unclassified"


@pytest.mark.parametrize(
    ("exc", "code"),
    [
        (fake("psycopg2.errors.X", pgcode="40P01"), "40P01"),
        (fake("psycopg2.errors.X", pgcode="40P01"), "40"),
        (fake("grpc.RpcError", code=lambda: SimpleNamespace(name="DEADLINE_EXCEEDED")), "DEADLINE_EXCEEDED"),
        (ConnectionResetError(errno.ECONNRESET, "x"), "ECONNRESET"),
        (fake("shop.ApiError", code="till-on-fire"), "till_on_fire"),
        (fake("shop.ApiError", code="tillOnFire"), "TillOnFire"),
        (fake("pymysql.err.Error", args=(1213, "x")), "1213"),
    ],
)
def test_codes_as_they_are_shown(exc: BaseException, code: str) -> None:
    mine = UserRule("mine", "permission", codes=(code,))
    assert judged(exc, mine).rule == "mine"
    assert judged(exc, UserRule("other", "permission", codes=("TEAPOT", "-9"))).rule != "other"


def test_statuses_one_by_one_and_by_class() -> None:
    exc = fake("shop.ApiError", status_code=503)
    assert judged(exc, UserRule("one", "permanent", statuses=(502, 503))).rule == "one"
    assert judged(exc, UserRule("all", "permanent", statuses=("5xx",))).rule == "all"
    assert judged(exc, UserRule("not", "permanent", statuses=(502, "4xx"))).rule == "http.unavailable"
    assert judged(exc, UserRule("no-status", "permanent", codes=("503",))).rule == "http.unavailable"


def test_the_message_and_the_body() -> None:
    mine = UserRule("mine", "resource", message=r"till \d+ is open")
    assert judged(ValueError("sorry, TILL 3 is open"), mine).rule == "mine"
    assert judged(fake("shop.ApiError", body={"why": "Till 3 is open"}), mine).rule == "mine"
    assert judged(ValueError("till three is open"), mine).rule == "python.value"


def test_all_conditions_must_hold() -> None:
    mine = UserRule("mine", "resource", errors=(LOCKED,), statuses=(409,), codes=("busy",), message="till")
    exc: Any = Locked("till")
    assert judged(exc, mine).rule != "mine"
    exc.status_code = 409
    assert judged(exc, mine).rule != "mine"
    exc.code = "busy"
    assert judged(exc, mine).rule == "mine"
    assert judged(fake("shop.Other", said="till", status_code=409, code="busy"), mine).rule != "mine"


def test_policy_and_wait() -> None:
    fixed = UserRule("mine", "network", errors=(LOCKED,), policy="fixed", retry_after=30)
    found = judged(Locked(), fixed)
    assert (found.policy, found.retry_after) == ("fixed", timedelta(seconds=30))
    asked = UserRule("mine", "network", statuses=(503,), retry_after=30)
    for header, seconds in (("90", 90), ("5", 30)):
        exc = fake("shop.ApiError", status_code=503, headers={"Retry-After": header})
        assert judged(exc, asked).retry_after == timedelta(seconds=seconds)
    never = UserRule("mine", "network", errors=(LOCKED,), policy="never", retry_after=30)
    assert judged(Locked(), never).retry_after is None


def test_the_first_layer_and_the_first_rule_count() -> None:
    by_class = UserRule("class", "resource", errors=(LOCKED,))
    by_message = UserRule("message", "network", message="till")
    by_base = UserRule("base", "permanent", errors=("Exception",))
    exc = Locked("till 3")
    assert judged(exc, by_message, by_class).rule == "message"
    assert judged(exc, by_class, by_message).rule == "class"
    assert judged(exc, by_base, by_class).rule == "base"
    assert judged(exc, by_class, under=(by_base, by_message)).rule == "class"
    assert judged(exc, under=(by_base, by_class)).rule == "base"
    later = BOOK.extended([("settings", [by_base])]).extended([("step", [by_class])])
    assert classify(exc, book=later).rule == "class"


def test_the_own_word_counts_more_than_any_rule() -> None:
    mine = UserRule("mine", "transient", errors=("Exception",))
    assert judged(PermanentError("no"), mine).rule == "own-word.never"
    assert judged(fake("shop.Locked", retryable=False), mine).rule == "own-word.never"


def test_any_rule_counts_more_than_the_built_in_ones() -> None:
    mine = UserRule("mine", "permission", errors=("ConnectionError",))
    assert judged(ConnectionResetError(errno.ECONNRESET, "x"), mine).rule == "mine"
    assert BOOK.users is None, "the book itself is left as it was"


@pytest.mark.parametrize(
    "wrapper",
    [
        RuntimeError("could not pay"),
        ValueError("could not pay"),
        fake("requests.exceptions.ConnectTimeout"),
        fake("shop.ApiError", status_code=404),
    ],
)
def test_what_is_wrapped_meets_the_rules_before_the_wrapper_meets_the_built_in_ones(
    wrapper: BaseException,
) -> None:
    found = judged(caused(wrapper, caused(OSError("between"), Locked())), BUSY)
    assert (found.category, found.rule) == ("resource", "shop.busy")
    assert "caused by builtins.OSError, caused by " in found.explanation
    assert 0.9 <= found.confidence < 1


def test_a_wrapper_of_a_library_is_looked_through() -> None:
    assert judged(fake("sqlalchemy.exc.DBAPIError", orig=Locked()), BUSY).rule == "shop.busy"
    assert judged(RuntimeError("gave up", Locked()), BUSY).rule == "shop.busy"


def test_the_nearest_exception_counts() -> None:
    outer = UserRule("outer", "network", errors=("RuntimeError",))
    assert judged(caused(RuntimeError(), Locked()), BUSY, under=(outer,)).rule == "outer"


def test_the_own_word_of_what_is_wrapped_counts_more_than_rules_for_what_that_wraps() -> None:
    exc = caused(RuntimeError(), caused(PermanentError("no"), Locked()))
    assert judged(exc, BUSY).rule == "own-word.never"


def test_what_was_only_being_handled_is_asked_last() -> None:
    bug = KeyError("total")
    bug.__context__ = Locked()
    assert judged(bug, BUSY).rule == "python.lookup"
    odd = fake("shop.Odd")
    odd.__context__ = Locked()
    assert judged(odd, BUSY).rule == "shop.busy"


def test_members_of_groups_meet_the_rules_and_the_worst_counts() -> None:
    never = UserRule("never", "permanent", errors=("TimeoutError",))
    group = ExceptionGroup("both", [TimeoutError(), Locked()])
    assert judged(group, BUSY, never).rule == "never"
    assert judged(ExceptionGroup("one", [Locked()]), BUSY).rule == "shop.busy"
    whole = UserRule("whole", "network", errors=("ExceptionGroup",))
    assert judged(group, BUSY, never, whole).rule == "whole"
    assert judged(caused(RuntimeError(), ExceptionGroup("in", [Locked()])), BUSY).rule == "shop.busy"


def test_rings_and_exceptions_without_end_are_left() -> None:
    class Endless(Exception):
        @property
        def orig(self) -> Exception:
            return Endless()

        cause = reason = exc = original_exception = orig

    assert judged(Endless(), BUSY).rule == "unclassified"
    ring = caused(RuntimeError("a"), RuntimeError("b"))
    assert ring.__cause__ is not None
    ring.__cause__.__cause__ = ring
    assert judged(ring, BUSY).rule == "unclassified"


def test_functions_are_asked_and_may_decline() -> None:
    @rule(errors=Locked)
    def till(exc: BaseException) -> Verdict | str | None:
        match str(exc):
            case "long":
                return Verdict("resource", "fibonacci", 60, "somebody counts the till")
            case "short":
                return "transient"
            case _:
                return None

    book = BOOK.extended([("code", registered())])
    long, short = classify(Locked("long"), book=book), classify(Locked("short"), book=book)
    assert (long.category, long.policy, long.retry_after) == ("resource", "fibonacci", timedelta(minutes=1))
    assert "somebody counts the till" in long.explanation
    assert short.rule == f"{__name__}.test_functions_are_asked_and_may_decline.<locals>.till"
    assert (short.category, short.policy) == ("transient", "exponential")
    assert classify(Locked("?"), book=book).rule == "unclassified"
    assert classify(ValueError("long"), book=book).rule == "python.value"


def test_a_function_is_asked_once_about_one_exception() -> None:
    asked = []
    spy = FunctionRule("spy", asked.append)
    exc = caused(RuntimeError("a"), caused(RuntimeError("b"), fake("shop.Odd")))
    exc.__context__ = exc.__cause__
    assert judged(exc, spy).rule == "unclassified"
    assert [type(one).__name__ for one in asked] == ["RuntimeError", "RuntimeError", "Odd"]


@pytest.mark.parametrize("answer", ["sometimes", 42, True, ["transient"], ValueError("x"), SystemExit(3)])
def test_nonsense_of_a_function_counts_as_no_answer(answer: object) -> None:
    def function(exc: BaseException) -> object:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    assert judged(Locked(), FunctionRule("odd", function)).rule == "unclassified"
    assert judged(Locked(), FunctionRule("odd", function), BUSY).rule == "shop.busy"


def test_decorated_functions_stay_functions_and_are_registered_once() -> None:
    @rule
    def anything(exc: BaseException) -> str:
        return "network"

    assert anything(ValueError()) == "network"
    assert [one.function for one in registered()] == [anything]
    rule(anything)
    assert len(registered()) == 1
    rule(name="named", errors=["ValueError", Locked], statuses="5xx", codes="E1")(anything)
    named = registered()[-1]
    assert (named.errors, named.statuses, named.codes) == (("ValueError", LOCKED), ("5xx",), ("E1",))
    with pytest.raises(ValueError, match="needs another name"):
        rule(name="named")(lambda exc: None)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"category": "odd", "errors": ("KeyError",)}, "category 'odd' is none of transient, network"),
        ({"policy": "often", "errors": ("KeyError",)}, "policy 'often' is none of exponential, linear"),
        ({}, "at least one of errors"),
        ({"errors": ("Locked",)}, "'Locked' is none of Python's own exceptions: write its module"),
        ({"errors": ("a b.C",)}, "no name of a class"),
        ({"errors": "builtins.KeyError"}, "must be a list"),
        ({"statuses": (200,)}, "status 200 is neither"),
        ({"statuses": ("6xx",)}, "status '6xx' is neither"),
        ({"codes": ("--",)}, "code '--' is no code"),
        ({"message": "("}, "no regular expression"),
        ({"message": "x", "retry_after": -1}, "not between"),
        ({"message": "x", "retry_after": float("nan")}, "not between"),
        ({"message": "x", "retry_after": "soon"}, "no number of seconds"),
        ({"name": "", "message": "x"}, "has no name"),
    ],
)
def test_invalid_rules_are_refused_and_say_where(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=r"rule .* \(remand\.toml\): ") as refused:
        UserRule(**{"name": "mine", "category": "network", "source": "remand.toml", **given})
    assert told in str(refused.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ValueError, match="rule 'mine'") as refused:
        UserRule("mine", "odd", errors=("?",), statuses=(1,), message="[")
    assert str(refused.value).count("; ") == 3
    with pytest.raises(ValueError, match="policy"):
        Verdict("network", "often")


def test_rules_are_values() -> None:
    assert pickle.loads(pickle.dumps(BUSY)) == BUSY
    assert UserRule("a", "network", statuses=("503",)).conditions.statuses == {503}
    assert remand.classify is classify
    assert remand.rule is rule


def test_conflicts_of_names() -> None:
    layers = [
        ("step", [BUSY]),
        ("settings", [BUSY]),
        ("code", [UserRule("http.gone", "network", codes=("a",))]),
    ]
    assert conflicts(layers) == [
        "two rules are named 'shop.busy': one of remand.toml, one of remand.toml",
    ]
    taken = UserRule("http.not-found", "network", codes=("a",))
    assert conflicts([("code", [taken])]) == [
        "two rules are named 'http.not-found': one of the built-in rules, one of code"
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"errors": ("Exception",)}, {"errors": ("shop.Locked",), "message": "x"}),
        ({"errors": ("LookupError", "OSError")}, {"errors": ("KeyError", "TimeoutError")}),
        ({"statuses": ("5xx",)}, {"statuses": (502, 503), "errors": ("shop.Locked",)}),
        ({"codes": ("slow_down", "busy")}, {"codes": ("SlowDown",)}),
        ({"message": "x"}, {"message": "x", "codes": ("a",)}),
    ],
)
def test_conflicts_of_reach(first: dict[str, Any], second: dict[str, Any]) -> None:
    one, two = UserRule("one", "network", **first), UserRule("two", "permanent", **second)
    assert conflicts([("settings", [one, two])]) == [
        "rule 'two' is never reached: rule 'one' before it takes all it would"
    ]
    assert conflicts([("settings", [two, one])]) == []
    assert conflicts([("step", [one]), ("settings", [two])]) == [], "a step may overrule the settings"


def test_conflicts_of_verdicts() -> None:
    one = UserRule("one", "network", statuses=(503,))
    two = UserRule("two", "network", statuses=(503,), policy="fixed", retry_after=5)
    told = conflicts([("settings", [one, two])])
    assert len(told) == 1
    assert "'one' and 'two' have the same conditions" in told[0]
    assert "network/exponential, network/fixed after 5 s; the first one counts" in told[0]
    function = FunctionRule("function", lambda exc: None, errors=("KeyError",))
    assert conflicts([("code", [function, UserRule("other", "network", errors=("KeyError",))])]) == []


def test_every_category_is_known_to_rules() -> None:
    for category in POLICY_OF:
        assert judged(Locked(), UserRule("mine", category, errors=(LOCKED,))).category == category
