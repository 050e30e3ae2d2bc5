"""The classifier: whose word counts first, families of failures, and exceptions that fight back."""

from __future__ import annotations

import email.message
import errno
import pickle
import re
import subprocess
import time
import urllib.error
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import billiard.exceptions
import celery.exceptions
import docker.errors
import httpx
import jsonschema
import kombu.exceptions
import psycopg2.errors
import pydantic
import pytest
import redis.exceptions
import requests
import sqlalchemy.exc
import urllib3.exceptions
from hypothesis import given
from hypothesis import strategies as st

import remand.facts
import remand.wrapped
from remand.classify import classify
from remand.errors import PermanentError, RateLimited, RemandError, RetryableError, StepTimeout, WorkerLost
from remand.facts.subject import ATTRIBUTES
from remand.rules import BOOK, POLICY_OF, Rule, RuleBook

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def fake(name: str, base: type[BaseException] = Exception, **attributes: object) -> Any:
    module, _, cls = name.rpartition(".")
    made: Any = type(cls, (base,), {"__module__": module, "__qualname__": cls})("look-alike")
    for attribute, value in attributes.items():
        setattr(made, attribute, value)
    return made


def http(status: int, headers: dict[str, str] | None = None) -> requests.HTTPError:
    response = requests.Response()
    response.status_code = status
    response.headers.update(headers or {})
    return requests.HTTPError(f"{status} Error", response=response)


def httpx_error(status: int) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "https://api.example.com")
    return httpx.HTTPStatusError("bad", request=request, response=httpx.Response(status, request=request))


def verdict(exc: BaseException) -> str:
    found = classify(exc, now=NOW)
    return f"{found.category}/{found.policy}"


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (RetryableError("later"), "transient/exponential"),
        (RetryableError("later", category="resource"), "resource/linear"),
        (RateLimited("slow", retry_after=9), "resource/exponential"),
        (PermanentError("no"), "permanent/never"),
        (PermanentError("no", category="validation"), "validation/never"),
        (StepTimeout(), "transient/exponential"),
        (WorkerLost(), "resource/immediate"),
        (fake("remand_app.domain.errors.ResultInvalid", RemandError), "validation/never"),
        (fake("remand_app.domain.errors.HandlerNotFound", RemandError), "permanent/never"),
        (SystemExit(1), "permanent/never"),
        (SystemExit(75), "transient/exponential"),
        (KeyboardInterrupt(), "transient/immediate"),
        (celery.exceptions.WorkerShutdown(), "transient/immediate"),
        (fake("shop.Gone", ValueError, retryable=True), "transient/exponential"),
        (fake("shop.Stop", ConnectionError, retryable=False), "permanent/never"),
        (fake("shop.Slow", ValueError, retry_after=4), "transient/exponential"),
        (celery.exceptions.Retry("again", None, 30), "transient/exponential"),
        (celery.exceptions.Reject("no", requeue=False), "permanent/never"),
        (celery.exceptions.Reject("yes", requeue=True), "transient/exponential"),
    ],
)
def test_the_own_word_of_exceptions(exc: BaseException, expected: str) -> None:
    assert verdict(exc) == expected


@pytest.mark.parametrize(
    ("status", "retried"),
    [
        (400, False), (401, False), (403, False), (404, False), (408, True), (409, True), (421, True),
        (422, False), (425, True), (429, True), (500, True), (501, False), (502, True), (503, True),
        (504, True), (418, False), (599, True),
    ],
)  # fmt: skip
def test_status_codes_of_any_client(status: int, retried: bool) -> None:
    for exc in (http(status), httpx_error(status), fake("some.client.Failed", status_code=status)):
        assert (classify(exc, now=NOW).policy != "never") is retried


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (http(403, {"retry-after": "5"}), "resource/exponential"),
        (http(413, {"retry-after": "5"}), "resource/exponential"),
        (http(500, {"X-Should-Retry": "false"}), "permanent/never"),
        (requests.exceptions.SSLError("certificate verify failed"), "permanent/never"),
        (requests.exceptions.SSLError("EOF occurred in violation of protocol"), "network/exponential"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), "permanent/never"),
        (httpx.ConnectError("refused"), "network/exponential"),
        (urllib3.exceptions.LocationParseError("x y"), "validation/never"),
        (psycopg2.OperationalError("FATAL:  sorry, too many clients already"), "resource/linear"),
        (psycopg2.OperationalError("FATAL:  password authentication failed for user"), "permission/never"),
        (psycopg2.OperationalError("Verbindung verweigert"), "transient/exponential"),
        (psycopg2.errors.ForeignKeyViolation("fk"), "validation/never"),
        (
            sqlalchemy.exc.OperationalError("q", {}, fake("asyncpg.X", sqlstate="40001")),
            "transient/immediate",
        ),
        (sqlalchemy.exc.TimeoutError("QueuePool limit, connection timed out"), "resource/exponential"),
        (redis.exceptions.AuthenticationError("WRONGPASS"), "permission/never"),
        (redis.exceptions.ConnectionError("Error 111"), "network/exponential"),
        (redis.exceptions.ResponseError("OOM command not allowed"), "resource/linear"),
        (kombu.exceptions.OperationalError("refused"), "network/exponential"),
        (kombu.exceptions.DecodeError("bad"), "validation/never"),
        (billiard.exceptions.WorkerLostError("signal 9 (SIGKILL)"), "resource/exponential"),
        (celery.exceptions.NotRegistered("x"), "permanent/never"),
        (docker.errors.ImageNotFound("no"), "permanent/never"),
        (jsonschema.ValidationError("bad"), "validation/never"),
        (jsonschema.SchemaError("bad"), "permanent/never"),
        (subprocess.CalledProcessError(137, "x"), "resource/linear"),
        (FileNotFoundError(errno.ENOENT, "x"), "permanent/never"),
        (OSError(errno.ENOSPC, "full"), "resource/linear"),
        (fake("grpc.RpcError", code=lambda: SimpleNamespace(name="UNAVAILABLE")), "network/exponential"),
        (fake("grpc.RpcError", code=lambda: 1 / 0), "transient/exponential"),
        (fake("pymysql.err.OperationalError", args=(1213, "Deadlock")), "transient/immediate"),
    ],
)
def test_families(exc: BaseException, expected: str) -> None:
    assert verdict(exc) == expected


def test_pydantic() -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        pydantic.TypeAdapter(int).validate_python("x")
    assert verdict(caught.value) == "validation/never"


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("invalid timeout value"),
        KeyError("connection"),
        ValueError("port 8503 given twice"),
        FileNotFoundError(2, "No such file", "/srv/retry/503.txt"),
        RecursionError("maximum recursion depth exceeded"),
        AttributeError("no attribute 'retry'"),
    ],
)
def test_words_in_builtins_are_not_read(exc: BaseException) -> None:
    assert classify(exc, now=NOW).policy == "never"


def test_bare_names_of_other_packages_do_not_match() -> None:
    assert classify(fake("shop.errors.AuthenticationError")).rule == "unclassified"
    assert classify(fake("shop.redis.ConnectionError")).rule == "unclassified"


def test_subclasses_are_judged_as_their_base() -> None:
    class Ours(redis.exceptions.AuthenticationError):
        pass

    assert verdict(Ours()) == "permission/never"


def test_a_code_of_its_own_counts_more_than_a_builtin_base() -> None:
    assert verdict(fake("shop.ApiError", ValueError, status_code=503)) == "transient/exponential"


def test_structured_code_counts_more_than_words() -> None:
    spent = fake("openai.RateLimitError", status_code=429, body={"type": "insufficient_quota", "code": None})
    short = fake("openai.RateLimitError", status_code=429, body={"type": None, "code": None})
    assert (verdict(spent), verdict(short)) == ("permanent/never", "resource/exponential")


PHRASES = ["File not found", "Invalid argument", "Forbidden", "Unauthorized", "Rate limited", "Expired", ""]


def urllib_error(status: int, phrase: str) -> BaseException:
    return urllib.error.HTTPError("http://a.example", status, phrase, email.message.Message(), None)


def openapi_error(status: int, phrase: str) -> BaseException:
    return fake(
        "kubernetes.client.exceptions.ApiException", status=status, reason=phrase, body="", headers={}
    )


def azure_error(status: int, phrase: str) -> BaseException:
    answer = SimpleNamespace(status_code=status, reason=phrase, headers={})
    return fake("azure.X", status_code=status, reason=phrase, error=None, response=answer)


def httplib_error(status: int, phrase: str) -> BaseException:
    answer = SimpleNamespace(status=status, reason=phrase)
    return fake("shop.HttpError", resp=answer, reason=phrase, error=phrase)


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("make", [urllib_error, openapi_error, azure_error, httplib_error])
def test_the_reason_phrase_of_an_answer_is_no_code_of_a_vendor(make: Any, phrase: str) -> None:
    assert classify(make(503, phrase), now=NOW).rule == "http.unavailable"
    assert classify(make(404, phrase), now=NOW).rule == "http.not-found"


@pytest.mark.parametrize(
    ("status", "phrase"), [(503, "Service Unavailable"), (403, "Forbidden"), (410, "Gone")]
)
def test_a_phrase_that_the_body_repeats_is_no_code_either(status: int, phrase: str) -> None:
    found = classify(fake("shop.HttpError", status_code=status, body={"status": status, "error": phrase}))
    assert found.rule == classify(fake("shop.HttpError", status_code=status)).rule


def test_a_vendors_reason_beside_a_status_is_a_code() -> None:
    for reason in ("RATE_LIMIT_EXCEEDED", "rateLimitExceeded", "rate-limit-exceeded"):
        found = classify(fake("google.api_core.exceptions.GoogleAPICallError", code=403, reason=reason))
        assert found.rule == "api.rate"
    assert classify(fake("shop.ApiError", reason="forbidden")).rule == "api.denied"


def test_wrapped_causes_are_followed() -> None:
    wrapper = RuntimeError("upload failed")
    wrapper.__cause__ = requests.exceptions.ConnectionError("x")
    found = classify(wrapper, now=NOW)
    assert found.category == "network"
    assert found.explanation.startswith(
        "builtins.RuntimeError, caused by requests.exceptions.ConnectionError"
    )
    bug = KeyError("total")
    bug.__context__ = TimeoutError()
    assert classify(bug).policy == "never"


def test_a_retry_after_inside_a_cause_is_kept() -> None:
    wrapper = RuntimeError("x")
    wrapper.__cause__ = http(503, {"Retry-After": "30"})
    assert classify(wrapper, now=NOW).retry_after == timedelta(seconds=30)


def test_a_group_is_as_bad_as_its_worst_member() -> None:
    assert verdict(ExceptionGroup("g", [TimeoutError(), ConnectionResetError()])) == "network/exponential"
    assert (
        verdict(ExceptionGroup("g", [TimeoutError(), ExceptionGroup("h", [ValueError()])]))
        == "validation/never"
    )
    waits = ExceptionGroup("g", [http(503, {"Retry-After": "5"}), http(503, {"Retry-After": "50"})])
    assert classify(waits, now=NOW).retry_after == timedelta(seconds=50)


def test_explanation_is_a_sentence_for_people() -> None:
    found = classify(http(503, {"Retry-After": "30"}), now=NOW)
    assert found.explanation == (
        "HTTP 503 from requests.exceptions.HTTPError: the server is overloaded or down for a while; "
        "it asked for 30 s"
    )


def test_the_unknown_is_retried_and_marked() -> None:
    found = classify(fake("shop.Odd"))
    assert (found.category, found.policy, found.rule) == ("transient", "exponential", "unclassified")
    assert found.confidence < 0.5


def test_never_has_no_wait() -> None:
    assert classify(http(400, {"Retry-After": "30"}), now=NOW).retry_after is None


def test_rings_end_at_once() -> None:
    a, b, c = RuntimeError("a"), RuntimeError("b"), RuntimeError("c")
    a.__cause__ = a
    started = time.monotonic()
    classify(a)
    a.__cause__, b.__cause__ = b, a
    classify(a)
    a.__cause__ = b.__cause__ = None
    a.__context__, b.__context__, c.__context__ = b, c, a
    classify(a)
    assert time.monotonic() - started < 1


def test_long_chains_and_deep_groups_end() -> None:
    exc: BaseException = RuntimeError("x")
    for _ in range(5000):
        outer = RuntimeError("x")
        outer.__cause__ = exc
        exc = outer
    assert classify(exc).policy == "exponential"
    group: Exception = ValueError("x")
    for _ in range(150):
        group = ExceptionGroup("g", [group])
    assert classify(group).policy == "never"


class Hostile(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")


def test_hostile_exceptions_are_only_unclassified() -> None:
    assert classify(Hostile()).rule == "unclassified"


def test_all_that_is_read_of_an_exception_is_listed() -> None:
    # An attribute that is not in the list is never looked for.
    sources = [path.read_text() for path in Path(remand.facts.__file__).parent.parent.glob("**/*.py")]
    read = {
        name for text in sources for name in re.findall(r"""(?:facts|self|subject)\.get\("(\w+)"\)""", text)
    }
    assert {"retryable", "status_code", "errno", "orig"} <= read | set(remand.wrapped._ATTRIBUTES)
    assert read | set(remand.wrapped._ATTRIBUTES) <= ATTRIBUTES


def test_attributes_are_found_wherever_a_class_keeps_them() -> None:
    class Slotted(Exception):
        __slots__ = ("status_code",)

    class Computed(Exception):
        def __getattr__(self, name: str) -> int:
            if name == "status_code":
                return 429
            raise AttributeError(name)

    class Property(Exception):
        @property
        def status_code(self) -> int:
            return 429

    class Constant(Exception):
        status_code = 429

    class Below(Constant):
        pass

    slotted: Any = Slotted()
    slotted.status_code = 429
    for exc in (slotted, Computed(), Property(), Constant(), Below(), fake("shop.X", status_code=429)):
        assert classify(exc).rule == "http.limited"


@pytest.mark.parametrize("name", ["retry-after", "Retry-After", "RETRY-AFTER", b"Retry-After"])
@pytest.mark.parametrize("make", [dict, httpx.Headers, list, tuple])
def test_headers_of_any_client_are_read_in_any_case(make: Any, name: str | bytes) -> None:
    value = b"17" if isinstance(name, bytes) else "17"
    pairs = [(name, value), (b"date" if isinstance(name, bytes) else "date", value)]
    exc = fake("shop.X", status_code=503, headers=make(pairs))
    assert classify(exc, now=NOW).retry_after == timedelta(seconds=17)


class Nasty:
    """Raises at whatever is asked of it, but lets Hypothesis print it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __getitem__(self, key: object) -> Any:
        raise RuntimeError("no")

    __bool__ = __len__ = __iter__ = __str__ = __eq__ = __getitem__

    def __repr__(self) -> str:
        return "Nasty()"


@pytest.mark.parametrize(
    "where", ["response", "body", "headers", "__cause__", "code", "orig", "retry_after", "category"]
)
def test_hostile_attributes_do_no_harm(where: str) -> None:
    exc = fake("requests.exceptions.ConnectionError")
    setattr(exc, where, Hostile())
    assert classify(exc, now=NOW).policy == "exponential"


_junk = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
    st.just(ValueError("inner")), st.builds(Nasty), st.just(object()), st.just(lambda: 1 / 0),
)  # fmt: skip
_names = st.sampled_from(
    [
        "response",
        "headers",
        "status",
        "status_code",
        "code",
        "http_status",
        "body",
        "errors",
        "reason",
        "orig",
        "retry_after",
        "retryable",
        "category",
        "pgcode",
        "sqlstate",
        "errno",
        "args",
        "kwargs",
        "last_attempt",
        "recipients",
        "details",
        "meta",
        "resp",
        "info",
        "type",
        "error",
        "when",
    ]
)
_classes = st.sampled_from(
    [
        "shop.X",
        "pymongo.errors.PyMongoError",
        "grpc.RpcError",
        "smtplib.SMTPException",
        "amqp.exceptions.AMQPError",
        "stripe.StripeError",
        "botocore.exceptions.ClientError",
        "pymysql.err.Error",
        "remand.errors.RetryableError",
        "kafka.errors.KafkaError",
    ]
)


@given(_classes, st.dictionaries(_names, _junk, max_size=6))
def test_never_raises_and_keeps_to_the_vocabulary(name: str, attributes: dict[str, Any]) -> None:
    attributes.pop("args", None)
    found = classify(fake(name, **attributes), now=NOW)
    assert found.category in POLICY_OF
    assert found.policy in {"exponential", "linear", "immediate", "never"}
    assert (found.policy == "never") == (POLICY_OF[found.category] == "never")
    assert 0 <= found.confidence <= 1
    assert found.explanation


def test_every_rule_is_named_reasoned_and_consistent() -> None:
    for rule in BOOK.rules:
        assert rule.keys, rule.name
        assert rule.reason and rule.source, rule.name  # noqa: PT018
        assert (rule.policy == "never") == (POLICY_OF[rule.category] == "never"), rule.name


def test_conflicting_rules_are_refused() -> None:
    first = Rule("a", "status", (404,), "permanent", "r", "s")
    with pytest.raises(ValueError, match="both claim"):
        RuleBook([first, Rule("b", "status", (404,), "transient", "r", "s")])
    with pytest.raises(ValueError, match="are named"):
        RuleBook([first, first])
    with pytest.raises(ValueError, match="unknown category"):
        Rule("c", "status", (1,), "odd", "r", "s")


def test_a_book_of_ones_own_rules() -> None:
    book = RuleBook(
        [*BOOK.rules, Rule("shop.odd", "type", ("shop.Odd",), "resource", "the shop is shut", "us")]
    )
    assert classify(fake("shop.Odd"), book=book).rule == "shop.odd"


@pytest.mark.parametrize(
    "exc",
    [
        RateLimited("x", retry_after=3),
        PermanentError("y", category="validation"),
        RemandError("m", hint="h", details={"a": 1}),
    ],
)
def test_errors_survive_pickling(exc: Exception) -> None:
    again = pickle.loads(pickle.dumps(exc))
    assert type(again) is type(exc)
    assert (str(again), again.__dict__) == (str(exc), exc.__dict__)
