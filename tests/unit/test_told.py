"""Lists, counts and groups tell of what failed, not of what was wrapped around it."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
import requests
import sqlalchemy.exc
import urllib3.exceptions
from celery.exceptions import ChordError, MaxRetriesExceededError, Retry
from celery.utils.serialization import UnpickleableExceptionWrapper

from remand.failure import Failure, capture
from remand.fingerprint import fingerprint, masked
from remand.rejudge import explain_recorded
from tests.support.lookalikes import fake_class


def caused(outer: BaseException, cause: BaseException) -> BaseException:
    outer.__cause__ = cause
    return outer


def exhausted(cause: BaseException) -> BaseException:
    """Return what tenacity raises: it keeps a finished future, whose text is its address."""
    future: concurrent.futures.Future[None] = concurrent.futures.Future()
    future.set_exception(cause)
    error = fake_class("tenacity.RetryError", [])()
    error.__dict__.update(said=f"RetryError[{future!r}]", last_attempt=future)
    return error


def tried(cause: BaseException) -> BaseException:
    error = fake_class("retrying.RetryError", [])()
    error.__dict__.update(
        said="RetryError[Attempts: 3]", last_attempt=SimpleNamespace(value=(type(cause), cause, None))
    )
    return error


def google(cause: BaseException) -> BaseException:
    error = fake_class("google.api_core.exceptions.RetryError", [])()
    error.__dict__.update(said="Timeout of 60.0s exceeded", cause=cause)
    return error


def max_retries(cause: BaseException) -> BaseException:
    try:
        raise cause
    except type(cause):
        try:
            raise MaxRetriesExceededError("Can't retry shop.pay[17] args:() kwargs:{}")
        except MaxRetriesExceededError as error:
            return error


def in_a_pool(cause: BaseException) -> BaseException:
    def fail() -> None:
        raise cause

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        error = pool.submit(fail).exception()
    assert error is not None
    return error


def in_a_task_group(cause: BaseException) -> BaseException:
    async def fail() -> None:
        raise cause

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    try:
        asyncio.run(run())
    except BaseExceptionGroup as error:
        return error
    raise AssertionError("nothing was raised")


HIDING: dict[str, Callable[[BaseException], BaseException]] = {
    "tenacity": exhausted,
    "retrying": tried,
    "google": google,
    "chord": lambda cause: caused(ChordError(f"Dependency 1-2 raised {cause!r}"), cause),
    "retry": lambda cause: Retry("Retry in 60s", cause, 60),  # type: ignore[no-untyped-call]
    "max retries": max_retries,
    "unpickleable": UnpickleableExceptionWrapper.from_exception,
    "future": in_a_pool,
    "task group": in_a_task_group,
    "group of one": lambda cause: ExceptionGroup("unhandled", [cause]),  # type: ignore[type-var]
    "group in group": lambda cause: ExceptionGroup("a", [ExceptionGroup("b", [cause])]),  # type: ignore[type-var]
    "tenacity in a group": lambda cause: ExceptionGroup("a", [exhausted(cause)]),  # type: ignore[type-var]
    "urllib3": lambda cause: urllib3.exceptions.MaxRetryError(None, "/v1", cause),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("wrap", HIDING.values(), ids=HIDING.keys())
def test_a_wrapper_is_told_by_what_it_wraps(wrap: Callable[[BaseException], BaseException]) -> None:
    plain, inside = (
        capture(ValueError("order 17 is not paid")),
        capture(wrap(ValueError("order 17 is not paid"))),
    )
    assert (inside.error_class, inside.message) == ("builtins.ValueError", "order 17 is not paid")
    assert inside.fingerprint == plain.fingerprint
    assert capture(wrap(ValueError("order 4242 is not paid"))).fingerprint == plain.fingerprint
    assert capture(wrap(ValueError("the till is shut"))).fingerprint != plain.fingerprint
    assert capture(wrap(KeyError("order"))).fingerprint != plain.fingerprint


@pytest.mark.parametrize("wrap", HIDING.values(), ids=HIDING.keys())
def test_the_wrapper_is_not_forgotten(wrap: Callable[[BaseException], BaseException]) -> None:
    outer = wrap(ConnectionRefusedError(111, "refused"))
    failure = Failure.from_json(capture(outer).to_json())
    name = type(outer).__name__
    assert name in failure.traceback + " ".join(failure.facts["bases"])
    assert failure.classification.category == "network" or isinstance(outer, (Retry, MaxRetriesExceededError))


@pytest.mark.parametrize("wrap", HIDING.values(), ids=HIDING.keys())
def test_the_rules_can_be_asked_again(wrap: Callable[[BaseException], BaseException]) -> None:
    failure = Failure.from_json(capture(wrap(ValueError("no"))).to_json())
    assert explain_recorded(failure).verdict.policy == failure.classification.policy


def connection_failed(reason: BaseException) -> BaseException:
    return requests.ConnectionError(urllib3.exceptions.MaxRetryError(None, "/v1", reason))  # type: ignore[arg-type]


def dropped(reason: BaseException) -> BaseException:
    return requests.ConnectionError(urllib3.exceptions.ProtocolError("Connection aborted.", reason))


def in_sql(reason: BaseException) -> BaseException:
    return sqlalchemy.exc.OperationalError("select 1 where a in (%(a_1)s)", {"a_1": 1}, reason)


def silent(reason: BaseException) -> BaseException:
    return caused(fake_class("shop.Unpaid", [])(), reason)


def llm(reason: BaseException) -> BaseException:
    error = fake_class("openai.APIConnectionError", [])()
    error.__dict__["said"] = "Connection error."
    return caused(error, reason)


@pytest.mark.parametrize("wrap", [connection_failed, dropped, in_sql, silent, llm])
def test_a_class_that_says_what_it_is_keeps_its_name(wrap: Callable[[BaseException], BaseException]) -> None:
    refused, unknown = (
        wrap(OSError(n, text)) for n, text in ((111, "Connection refused"), (-2, "Name unknown"))
    )
    failure = capture(refused)
    assert failure.error_class.rpartition(".")[2] == type(refused).__name__
    assert failure.message == "[Errno 111] Connection refused"
    assert failure.fingerprint != capture(unknown).fingerprint


def test_how_many_parameters_a_statement_has_does_not_count() -> None:
    one, three = (
        sqlalchemy.exc.DataError(
            f"select 1 where a in ({', '.join(['%s'] * n)})", [1] * n, ValueError("too long")
        )
        for n in (1, 3)
    )
    assert capture(one).fingerprint == capture(three).fingerprint


def test_a_group_is_told_by_its_gravest_member() -> None:
    members = [ConnectionResetError(104, "reset"), PermissionError(13, "not yours"), TimeoutError("late")]
    failure = capture(ExceptionGroup("several", members))
    assert failure.error_class == "builtins.PermissionError"
    assert failure.classification.policy == "never"
    assert {one.partition(":")[0] for one in failure.causes} >= {
        "builtins.ConnectionResetError",
        "builtins.TimeoutError",
    }
    turned = capture(ExceptionGroup("several", members[::-1]))
    assert (turned.message, turned.fingerprint) == (failure.message, failure.fingerprint)


def test_words_of_ones_own_are_kept() -> None:
    failure = capture(
        caused(RuntimeError("upload of the invoice failed"), ConnectionResetError(104, "reset"))
    )
    assert (failure.error_class, failure.message) == ("builtins.RuntimeError", "upload of the invoice failed")


def test_a_chord_that_came_as_text_is_told_by_the_text() -> None:
    one, other = (capture(ChordError(f"Dependency {n}c-d1 raised ValueError('no')")) for n in (1, 2))
    assert one.message == "ValueError('no')"
    assert (
        one.fingerprint
        == other.fingerprint
        != capture(ChordError("Dependency 1 raised KeyError(1)")).fingerprint
    )


def circle() -> BaseException:
    one, two = exhausted(ValueError("x")), exhausted(ValueError("y"))
    one.__dict__["last_attempt"], two.__dict__["last_attempt"] = (
        SimpleNamespace(_exception=two),
        SimpleNamespace(_exception=one),
    )
    return one


def depths() -> Iterator[BaseException]:
    yield circle()
    deep: BaseException = ValueError("bottom")
    for _ in range(200):
        deep = exhausted(deep)
    yield deep
    yield fake_class("tenacity.RetryError", [])()


@pytest.mark.parametrize("exc", list(depths()))
def test_circles_and_depths_end(exc: BaseException) -> None:
    assert capture(exc).error_class


@pytest.mark.parametrize(
    ("error_class", "message", "title"),
    [
        ("builtins.KeyError", "'amount'", "'amount'"),
        ("builtins.KeyError", "'orderTotal'", "'orderTotal'"),
        ("builtins.KeyError", "'no plan for customer 17'", "'no plan for customer <n>'"),
        ("builtins.KeyError", "'3f2504e0-4f89-11d3-9a0c-0305e82c3301'", "'<id>'"),
        ("builtins.KeyError", "17", "<n>"),
        ("builtins.KeyError", f"'{'x' * 81}'", "<value>"),
        ("shop.MultiKeyError", "'amount'", "'amount'"),
        ("builtins.AttributeError", "'NoneType' object has no attribute 'total'", None),
        ("builtins.NameError", "name 'Total' is not defined", None),
        ("builtins.ModuleNotFoundError", "No module named 'shop.tax'", "no module named 'shop.tax'"),
        ("builtins.TypeError", "pay() got an unexpected keyword argument 'vat'", None),
        ("builtins.ValueError", "'amount' is no number", "<value> is no number"),
        ("shop.Odd", "{'ok': False, 'error': 'invalid_auth'}", "{<value>: false, 'error': 'invalid_auth'}"),
        ("shop.Odd", '{"code": "rate_limit", "id": "x"}', '{"code": "rate_limit", <value>: <value>}'),
        ("shop.Odd", "{'code': 'a 17', 'type': 'b2'}", "{<value>: <value>, <value>: <value>}"),
    ],
)
def test_a_title_says_something(error_class: str, message: str, title: str | None) -> None:
    assert masked(message, error_class) == (title or masked_names(message))


def masked_names(message: str) -> str:
    """Return a message in lower case, but what is quoted."""
    parts = message.split("'")
    return "'".join(part if n % 2 else part.lower() for n, part in enumerate(parts))


def test_two_missing_keys_are_two_causes() -> None:
    assert fingerprint("builtins.KeyError", "'amount'") != fingerprint("builtins.KeyError", "'currency'")


HEAD = "Traceback (most recent call last):\n"


def test_the_place_is_that_of_what_is_told() -> None:
    def trace(function: str) -> str:
        inner = f'{HEAD}  File "/srv/shop.py", line 1, in {function}\nshop.Odd: no\n'
        return f'{inner}\nThis led to:\n\n{HEAD}  File "/srv/till.py", line 2, in run\nw.W: x\n'

    assert fingerprint("shop.Odd", "no", trace("pay")) != fingerprint("shop.Odd", "no", trace("refund"))
    assert fingerprint("w.W", "x", trace("pay")) == fingerprint("w.W", "x", trace("refund"))
