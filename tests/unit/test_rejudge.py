"""What was recorded of a failure is enough for the rules to say the same of it again."""

from __future__ import annotations

import errno
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from remand.errors import PermanentError, RateLimited, RetryableError
from remand.failure import Failure, capture
from remand.rejudge import explain_recorded
from remand.rules import BOOK
from remand.rules.user import UserRule

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


def handling(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__context__ = inner
    return outer


def http(status: int, **headers: str) -> requests.HTTPError:
    response = requests.Response()
    response.status_code = status
    response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return requests.HTTPError(f"{status} Error", response=response)


def stored(exc: BaseException) -> Failure:
    return Failure.from_json(json.loads(json.dumps(capture(exc, now=NOW).to_json())))


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("x"),
        KeyError("x"),
        ConnectionResetError(errno.ECONNRESET, "reset"),
        http(503),
        http(404),
        http(403, Retry_After="30"),
        http(500, X_Should_Retry="false"),
        fake("psycopg2.errors.DeadlockDetected", pgcode="40P01"),
        fake("psycopg2.OperationalError", said="sorry, too many clients already"),
        fake("pymysql.err.OperationalError", errno=1213),
        fake("shop.ApiError", code="DBInstanceNotFound"),
        fake("shop.ApiError", code="slow_down", status_code=400),
        fake("redis.exceptions.ResponseError", said="OOM command not allowed"),
        fake("shop.Odd"),
        RateLimited("slow", retry_after=9),
        RetryableError("later", category="network"),
        PermanentError("no", category="validation"),
        fake("shop.Stop", ConnectionError, retryable=False),
        fake("shop.Slow", retry_after=4),
        caused(RuntimeError("x"), caused(fake("shop.Odd"), http(503))),
        caused(ValueError("x"), http(503)),
        handling(fake("shop.Odd"), TimeoutError()),
        handling(KeyError("x"), TimeoutError()),
        handling(fake("kafka.errors.KafkaError", retriable=True), ConnectionResetError()),
        ExceptionGroup("g", [TimeoutError(), ValueError("x")]),
        ExceptionGroup("g", [TimeoutError(), http(429)]),
    ],
    ids=lambda exc: type(exc).__name__,
)
def test_the_verdict_is_that_of_the_exception(exc: BaseException) -> None:
    failure = stored(exc)
    again = explain_recorded(failure, now=NOW).verdict
    then = failure.classification
    assert (again.category, again.policy, again.rule) == (then.category, then.policy, then.rule)
    assert again.retry_after == then.retry_after


def test_rules_of_today_are_asked() -> None:
    mine = UserRule("mine", "resource", errors=("shop.Odd",), message="till", retry_after=60)
    book = BOOK.extended([("settings", [mine])])
    for exc in (fake("shop.Odd", said="till 3"), caused(RuntimeError("x"), fake("shop.Odd", said="till 3"))):
        failure = stored(exc)
        assert failure.classification.rule == "unclassified"
        found = explain_recorded(failure, now=NOW, book=book)
        assert (found.verdict.rule, found.verdict.retry_after) == ("mine", timedelta(minutes=1))
    codes = BOOK.extended([("settings", [UserRule("mine", "resource", codes=("slow-down",))])])
    assert explain_recorded(stored(fake("shop.Odd", code="SlowDown")), book=codes).verdict.rule == "mine"


def test_a_mere_context_is_not_taken_for_a_cause() -> None:
    mine = BOOK.extended([("settings", [UserRule("mine", "resource", errors=("TimeoutError",))])])
    assert (
        explain_recorded(stored(handling(KeyError("x"), TimeoutError())), book=mine).verdict.rule
        == "python.lookup"
    )
    assert explain_recorded(stored(caused(KeyError("x"), TimeoutError())), book=mine).verdict.rule == "mine"


def test_rows_without_facts_are_judged_by_class_and_message() -> None:
    row = capture(fake("shop.Odd", said="connection refused by the till"), now=NOW).to_json()
    del row["facts"], row["fingerprint"]
    found = explain_recorded(Failure.from_json(row), now=NOW)
    assert found.verdict.rule == "text.network"
    assert found.considered[0].subject == "shop.Odd"
