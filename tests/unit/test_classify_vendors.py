"""A vendor's number inside one class decides, not the class; look-alikes, for no vendor's library is here."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace
from typing import Any

import pytest
import requests
import urllib3
from urllib3.exceptions import MaxRetryError, NameResolutionError

from remand.classify import classify
from remand.facts.vendor_numbers import VENDOR_ROOTS
from remand.failure import Failure, capture
from remand.rejudge import explain_recorded
from remand.rules import BOOK
from tests.support.lookalikes import fake_class


def fake(name: str, said: str, *bases: str, **attributes: Any) -> BaseException:
    exc = fake_class(name, list(bases))()
    exc.args = attributes.pop("args", (said,))
    exc.__dict__.update(said=said, **attributes)
    return exc


def oracle(text: str) -> BaseException:
    return fake("oracledb.exceptions.DatabaseError", text)


def odbc(state: str, number: int, text: str) -> BaseException:
    said = (
        f"[{state}] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]{text} ({number}) (SQLExecDirectW)"
    )
    return fake("pyodbc.Error", f"('{state}', '{said}')", args=(state, said))


def tds(number: int) -> BaseException:
    return fake("pymssql.exceptions.OperationalError", "told", args=((number, b"told"),))


def kafka(number: int) -> BaseException:
    return fake("cimpl.KafkaException", "told", args=(SimpleNamespace(code=lambda: number),))


def snowflake(number: int, text: str) -> BaseException:
    return fake("snowflake.connector.errors.DatabaseError", text, errno=number, sqlstate="08001")


def salesforce(status: int, code: str) -> BaseException:
    name = "simple_salesforce.exceptions.SalesforceMalformedRequest"
    return fake(name, "told", status=status, content=[{"message": "told", "errorCode": code}])


CASES = [
    (oracle("ORA-00060: deadlock detected"), "transient/immediate"),
    (oracle("ORA-01017: invalid username/password; logon denied"), "permission/never"),
    (oracle("DPY-6005: cannot connect to database.\n[Errno 111] Connection refused"), "network/exponential"),
    (oracle("ORA-02063: preceding line from LINK\nORA-00001: unique constraint"), "network/exponential"),
    (odbc("40001", 1205, "was deadlocked"), "transient/immediate"),
    (odbc("HY000", 40501, "The service is currently busy."), "resource/exponential"),
    (odbc("42000", 229, "The SELECT permission was denied"), "permission/never"),
    (tds(2627), "validation/never"),
    (tds(20009), "network/exponential"),
    (fake("clickhouse_driver.errors.ServerException", "Code: 241.", code=241), "resource/exponential"),
    (
        fake("clickhouse_connect.driver.exceptions.DatabaseError", "ClickHouse exception, code: 60, x"),
        "permanent/never",
    ),
    (
        fake("neo4j.exceptions.ClientError", "told", code="Neo.ClientError.Security.Unauthorized"),
        "permission/never",
    ),
    (
        fake("neo4j.exceptions.Neo4jError", "told", code="Neo.TransientError.New.Kind"),
        "transient/exponential",
    ),
    (kafka(29), "permission/never"),
    (kafka(-184), "resource/exponential"),
    (BufferError("Local: Queue full"), "resource/exponential"),
    (BufferError("Existing exports of data: object cannot be re-sized"), "permanent/never"),
    (snowflake(250001, "250001 (08001): Incorrect username or password was specified."), "permission/never"),
    (snowflake(250001, "250001 (08001): Could not connect to Snowflake backend"), "network/exponential"),
    (salesforce(400, "UNABLE_TO_LOCK_ROW"), "transient/exponential"),
    (salesforce(400, "REQUIRED_FIELD_MISSING"), "validation/never"),
    (
        fake("azure.cosmos.exceptions.CosmosHttpResponseError", "told", status_code=410),
        "transient/exponential",
    ),
    (fake("azure.core.exceptions.HttpResponseError", "told", status_code=410), "permanent/never"),
    (fake("vendor.Odd", "told", status_code=449), "transient/exponential"),
    (fake("gitlab.exceptions.GitlabError", "told", response_code=503), "transient/exponential"),
    (__import__("imaplib").IMAP4.error(b"[INUSE] Mailbox in use"), "transient/exponential"),
    (__import__("poplib").error_proto(b"-ERR [AUTH] no"), "permission/never"),
]


@pytest.mark.parametrize(("exc", "expected"), CASES, ids=lambda one: str(one)[:60])
def test_the_number_decides(exc: BaseException, expected: str) -> None:
    found = classify(exc)
    assert f"{found.category}/{found.policy}" == expected, found.explanation


@pytest.mark.parametrize("exc", [exc for exc, _ in CASES], ids=lambda one: str(one)[:60])
def test_a_recorded_one_is_judged_alike(exc: BaseException) -> None:
    failure = Failure.from_json(json.loads(json.dumps(capture(exc).to_json())))
    assert explain_recorded(failure).verdict.policy == failure.classification.policy


def test_a_password_behind_an_error_of_connection() -> None:
    refused = fake("cassandra.AuthenticationFailed", "Bad credentials")
    nobody = fake("cassandra.cluster.NoHostAvailable", "Unable to connect", errors={"10.0.0.1:9042": refused})
    assert classify(nobody).category == "permission"
    nobody.__dict__["errors"] = {"10.0.0.1:9042": ConnectionRefusedError(111, "refused")}
    assert classify(nobody).category == "network"


@pytest.mark.parametrize(
    ("number", "text", "policy"),
    [
        (socket.EAI_NONAME, "Name or service not known", "never"),
        (socket.EAI_AGAIN, "Temporary failure in name resolution", "exponential"),
    ],
)
def test_an_unknown_name_is_one_through_every_client(number: int, text: str, policy: str) -> None:
    pool = urllib3.HTTPSConnectionPool("nohost.invalid")
    unknown = socket.gaierror(number, text)
    inner = NameResolutionError("nohost.invalid", pool, unknown)
    inner.__cause__ = unknown
    outer = MaxRetryError(pool, "/", inner)
    plain = fake("redis.exceptions.ConnectionError", f"Error {number} connecting to nohost:6379. {text}.")
    for exc in (unknown, inner, outer, requests.ConnectionError(outer), plain, RuntimeError(text)):
        assert classify(exc).policy == policy, repr(exc)


def answer(status: int, body: object) -> BaseException:
    response = requests.Response()
    response.status_code, response._content = status, json.dumps(body).encode()
    return requests.HTTPError(f"{status} told", response=response)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, {"error": {"type": "invalid_request_error"}}, "permission/never"),
        (401, {"error": {"type": "server_error"}}, "permission/never"),
        (401, {"error": {"code": "rate_limit_exceeded"}}, "resource/exponential"),
        (400, {"error": {"type": "invalid_request_error"}}, "validation/never"),
        (400, {"error": "invalid_grant"}, "permission/never"),
        (429, {"error": {"message": "You exceeded your current quota"}}, "permanent/never"),
        (429, {"error": {"message": "Rate limit reached for requests per minute"}}, "resource/exponential"),
        (403, {"error": {"message": "monthly spend limit reached"}}, "permanent/never"),
    ],
)  # fmt: skip
def test_what_is_spent_and_what_is_refused(status: int, body: object, expected: str) -> None:
    found = classify(answer(status, body))
    assert f"{found.category}/{found.policy}" == expected, found.explanation


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("context deadline exceeded", "network"),
        ("connect ETIMEDOUT 10.0.0.1:443", "network"),
        ("Request timeout", "network"),
        ("dial tcp 10.0.0.1:5432: i/o timeout", "network"),
        ("getaddrinfo ENOTFOUND nohost.invalid", "permanent"),
        ("Insufficient credits", "permanent"),
        ("token has expired", "permission"),
    ],
)
def test_words_of_clients_in_other_languages(text: str, category: str) -> None:
    assert classify(fake("shop.Odd", text)).category == category


@pytest.mark.parametrize(
    "text",
    [
        "the deadline of the order was exceeded",
        "ETIMEDOUTS is no table",
        "our request timeout is 30 s long",
        "said 401",
    ],
)
def test_words_about_something_else(text: str) -> None:
    assert classify(fake("shop.Odd", text)).rule == "unclassified"


def test_a_librarys_class_is_judged_by_its_name_a_users_is_not() -> None:
    of_a_library = type("RateLimitedError", (Exception,), {"__module__": "pytest.errors"})
    found = classify(of_a_library("told"))
    assert (found.category, found.rule) == ("resource", "name.limited")
    assert found.confidence < 0.6
    recorded = Failure.from_json(json.loads(json.dumps(capture(of_a_library("told")).to_json())))
    assert explain_recorded(recorded).verdict == found
    assert classify(fake("shop.errors.RateLimitedError", "told")).rule == "unclassified"


def test_every_table_of_numbers_is_read_by_some_rule() -> None:
    tables = {str(key).partition("-")[0].partition(".")[0] for key in BOOK.table("vendor")}
    assert tables == {
        "ARANGO",
        "CLICKHOUSE",
        "COSMOS",
        "DPY",
        "FACEBOOK",
        "GREMLIN",
        "IMAP",
        "KAFKA",
        "MSSQL",
        "NTSTATUS",
        "Neo",
        "ORA",
        "POP",
        "SNOWFLAKE",
    }
    assert {"oracledb", "pyodbc", "pymssql", "snowflake"} <= VENDOR_ROOTS
