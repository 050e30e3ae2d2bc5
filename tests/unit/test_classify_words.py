"""Words mislead: ports that look like statuses, names that look like failures, servers that speak German."""

from __future__ import annotations

import errno
import json
from types import SimpleNamespace
from typing import Any

import psycopg2
import psycopg2.errors
import pytest
import requests
import sqlalchemy.exc

from remand.classify import classify
from remand_app.domain.backoff import bounds
from remand_app.domain.retry import DEFAULT_RETRY


def verdict(exc: BaseException) -> str:
    found = classify(exc)
    return f"{found.category}/{found.policy}"


def answered(status: int, body: object) -> requests.HTTPError:
    response = requests.Response()
    response.status_code, response._content = status, json.dumps(body).encode()
    return requests.HTTPError(f"{status} Error", response=response)


def limited(code: str | None, kind: str | None, text: str) -> Any:
    made: Any = type("RateLimitError", (Exception,), {"__module__": "openai"})(text)
    made.status_code, made.code, made.type = 429, code, kind
    made.body = {"message": text, "code": code, "type": kind}
    return made


def rpc(code: str, details: str) -> Any:
    base = type("RpcError", (Exception,), {"__module__": "grpc"})
    made: Any = type("_InactiveRpcError", (base,), {"__module__": "grpc._channel"})(details)
    made.code = lambda: SimpleNamespace(name=code)
    return made


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("invalid timeout value"),
        KeyError("connection"),
        ValueError("port 8503 given twice"),
        FileNotFoundError(errno.ENOENT, "No such file or directory", "/srv/retry/503.txt"),
        FileNotFoundError("/srv/timeout/429"),
        PermissionError(errno.EACCES, "Permission denied", "/srv/unavailable"),
        NotADirectoryError(errno.ENOTDIR, "Not a directory", "/connection/reset"),
        TypeError("rate limit exceeded must be a str"),
        AssertionError("expected 503, got 200"),
        KeyError("HTTP 503"),
        ValueError("invalid connection string"),
        ValueError("SSL handshake file is missing"),
        LookupError("unknown encoding: timed out"),
        RecursionError("maximum recursion depth exceeded"),
        ValueError("https://example.com:8429/ is no address"),
    ],
)
def test_words_and_numbers_in_python_s_own_errors_are_not_read(exc: BaseException) -> None:
    assert classify(exc).policy == "never"


@pytest.mark.parametrize(
    "text",
    [
        "information on the access to the format",
        "customer 429 has 503 orders",
        "batch 502 of 504",
        "see https://example.com:8503/timeout",
        "the certificate of origin is attached",
        "connection string 'a' and permission set 'b'",
    ],
)
def test_words_and_numbers_by_themselves_decide_nothing(text: str) -> None:
    assert classify(type("Odd", (Exception,), {"__module__": "shop"})(text)).rule == "unclassified"


@pytest.mark.parametrize(
    ("state", "text", "expected"),
    [
        ("40P01", "Verklemmung (Deadlock) entdeckt", "transient/immediate"),
        ("40001", "kann Zugriff nicht serialisieren", "transient/immediate"),
        ("23505", "doppelter Schlüsselwert verletzt Unique-Constraint", "validation/never"),
        ("53300", "tut mir leid, schon zu viele Verbindungen", "resource/linear"),
        ("57P01", "Verbindung wird abgebrochen", "network/exponential"),
        ("28P01", "Passwort-Authentifizierung fehlgeschlagen", "permission/never"),
        ("42P01", "Relation existiert nicht", "permanent/never"),
    ],
)
def test_the_code_decides_whatever_language_the_server_speaks(state: str, text: str, expected: str) -> None:
    exc: Any = psycopg2.errors.lookup(state)(text)
    exc.__setstate__({"pgcode": state})
    assert verdict(exc) == expected
    assert verdict(sqlalchemy.exc.DBAPIError("q", {}, exc)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Verbindung zum Server auf »db«, Port 5432 fehlgeschlagen: Verbindungsaufbau abgelehnt",
        "FATAL:  das Datenbanksystem startet",
        "FATAL:  Passwort-Authentifizierung für Benutzer »app« fehlgeschlagen",
        "la connexion au serveur a échoué",
        "データベースシステムは起動中です",
    ],
)
def test_without_a_code_another_language_gets_bounded_retries(text: str) -> None:
    assert classify(psycopg2.OperationalError(text)).policy == "exponential"
    assert (
        classify(sqlalchemy.exc.OperationalError("q", {}, psycopg2.OperationalError(text))).policy != "never"
    )


def test_a_spent_quota_is_final_and_says_so() -> None:
    spent = classify(limited("insufficient_quota", "insufficient_quota", "You exceeded your current quota"))
    assert (spent.policy, "billing" in spent.explanation) == ("never", True)
    again = classify(answered(429, {"error": {"code": "insufficient_quota"}}))
    assert again.policy == "never"


def test_a_rate_limit_is_not() -> None:
    assert verdict(limited("rate_limit_exceeded", "requests", "Rate limit reached")) == "resource/exponential"


def test_the_words_of_a_spent_quota_without_its_code_are_a_limit() -> None:
    exc = limited(None, None, "INSUFFICIENT QUOTA: You exceeded your limit of concurrent requests")
    assert verdict(exc) == "resource/exponential"


def test_a_dropped_stream_is_tried_again_and_a_broken_invariant_is_not() -> None:
    assert verdict(rpc("INTERNAL", "Received RST_STREAM with error code 2")) == "transient/exponential"
    assert verdict(rpc("INTERNAL", "assertion failed")) == "permanent/never"


@pytest.mark.parametrize(
    "exc",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        psycopg2.OperationalError("FATAL:  sorry, too many clients already"),
        MemoryError(),
    ],
)
def test_what_is_used_up_waits_longer_than_what_is_out_of_reach(exc: BaseException) -> None:
    shortest, _ = bounds(classify(exc).policy, 1, DEFAULT_RETRY)
    _, longest = bounds(classify(ConnectionRefusedError()).policy, 1, DEFAULT_RETRY)
    assert shortest > longest


@pytest.mark.parametrize("cut", ['{"items": [1, 2, {"na', '{"items": [1, 2,'])
def test_an_answer_cut_short_is_tried_again_although_it_is_a_value_error(cut: str) -> None:
    response = requests.Response()
    response.status_code, response._content = 200, cut.encode()
    with pytest.raises(ValueError, match="char") as by_requests:
        response.json()
    with pytest.raises(ValueError, match="char") as plain:
        json.loads(cut)
    assert verdict(by_requests.value) == verdict(plain.value) == "network/exponential"


@pytest.mark.parametrize("text", ["", "<html>502 Bad Gateway</html>", "{'a': 1}", '{"a": 1} rest'])
def test_a_document_that_is_no_json_is_final(text: str) -> None:
    with pytest.raises(ValueError, match="char") as caught:
        json.loads(text)
    assert verdict(caught.value) == "validation/never"
