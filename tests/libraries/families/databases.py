"""Databases: SQLSTATE through four drivers, MySQL, SQLite, SQLAlchemy, MongoDB, the search engines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from tests.libraries.cases import Case, caught, caused, family

BACKOFF = "network/exponential transient/exponential resource/exponential"
BOUNDED = "transient/exponential resource/linear resource/exponential network/exponential"
NEVER = "permanent/never validation/never permission/never"
LIMITED = "resource/exponential resource/linear transient/exponential"
RECONNECT = "network/immediate network/exponential transient/exponential transient/immediate"

SQLSTATES = """
08000 network/exponential reconnect
08001 network/exponential reconnect
08003 network/exponential reconnect
08004 network/exponential reconnect+never
08006 network/exponential reconnect
08P01 network/exponential reconnect+never
0A000 permanent/never never
21000 validation/never never
22007 validation/never never
22012 validation/never never
22021 validation/never never
22P02 validation/never never
22023 validation/never never
23503 validation/never never
23505 validation/never never
23514 validation/never never
23P01 validation/never never
25001 permanent/never never
25006 transient/exponential bounded+never
25P02 transient/exponential bounded+never
25P03 network/exponential reconnect
28000 permission/never
28P01 permission/never
2BP01 permanent/never never
3D000 permanent/never never
3F000 permanent/never never
40001 transient/immediate again
40003 transient/exponential bounded
40P01 transient/immediate again
42703 permanent/never never
42883 permanent/never never
42P01 permanent/never never
42P07 permanent/never never
42701 permanent/never never
42P10 permanent/never never
53000 resource/linear bounded
53200 resource/linear bounded
53300 resource/linear bounded
53400 resource/linear bounded+never
54001 validation/never never
55006 transient/exponential bounded
55P03 transient/exponential bounded+again
55000 permanent/never never
57P02 network/exponential reconnect
57P03 transient/exponential bounded
57P04 permanent/never never
57P05 network/exponential reconnect
58030 transient/exponential bounded+never
58P01 permanent/never never
F0000 permanent/never never
P0001 validation/never never
P0002 permanent/never never
XX000 permanent/never bounded+never
XX002 permanent/never never
"""
ALSO = {
    "reconnect": RECONNECT, "never": NEVER, "bounded": f"{BOUNDED} transient/immediate",
    "again": "transient/exponential transient/immediate", "": "",
}  # fmt: skip


def states() -> Iterator[tuple[str, str, str]]:
    for line in SQLSTATES.strip().splitlines():
        state, expected, *names = line.split()
        yield state, expected, " ".join(ALSO[n] for n in "".join(names).split("+"))


@family("psycopg2", "PostgreSQL manual, appendix A")
def psycopg2_cases() -> Iterator[Case]:
    import psycopg2
    from psycopg2 import errors

    for state, expected, also in states():
        known = _lookup(errors, state)
        kind: Any = known if isinstance(known, type) else psycopg2.OperationalError
        exc: Any = kind("FEHLER:  etwas ging schief\n")
        exc.__setstate__({"pgcode": state, "pgerror": "FEHLER:  etwas ging schief\n"})
        yield Case(expected, exc, also, f"{state}, German")
    for text, expected, also in (
        ("FATAL:  sorry, too many clients already", "resource/linear", BOUNDED),
        ("FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute", "resource/linear", BOUNDED),
        ("FATAL:  the database system is in recovery mode", "transient/exponential", BOUNDED),
        ("FATAL:  the database system is shutting down", "transient/exponential", BOUNDED),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "app", database "app", no encryption', "permission/never", NEVER),
        ('FATAL:  role "app" does not exist', "permission/never", NEVER),
        ("fe_sendauth: no password supplied", "permission/never", NEVER),
        ('could not translate host name "db" to address: Temporary failure in name resolution', "network/exponential", BACKOFF),
        ("timeout expired", "network/exponential", BACKOFF),
        ("server closed the connection unexpectedly", "network/exponential", RECONNECT),
        ("SSL SYSCALL error: EOF detected", "network/exponential", RECONNECT),
        ("could not receive data from server: Connection reset by peer", "network/exponential", RECONNECT),
        ("No route to host", "network/exponential", BACKOFF),
        ("SSL error: certificate verify failed", "permanent/never", NEVER),
        ('root certificate file "/root/.postgresql/root.crt" does not exist', "permanent/never", NEVER),
        ("server does not support SSL, but SSL was required", "permanent/never", NEVER),
        ('server certificate for "a" does not match host name "b"', "permanent/never", NEVER),
        ("Verbindung zum Server auf »127.0.0.1«, Port 5432 fehlgeschlagen: Verbindungsaufbau abgelehnt", "network/exponential", BOUNDED),
        ("Verbindung fehlgeschlagen: FATAL:  tut mir leid, schon zu viele Verbindungen", "resource/linear", BOUNDED),
        ("Verbindung fehlgeschlagen: FATAL:  das Datenbanksystem startet", "transient/exponential", BOUNDED),
        ("la connexion au serveur a échoué : Connexion refusée", "network/exponential", BOUNDED),
        ("FATAL:  no more connections allowed (max_client_conn)", "resource/linear", BOUNDED),
        ("query_wait_timeout", "transient/exponential", BOUNDED),
    ):  # fmt: skip
        yield Case(expected, psycopg2.OperationalError(f"{text}\n"), also, text)
    yield Case("validation/never", psycopg2.ProgrammingError('invalid dsn: missing "=" after "x"'), NEVER)
    yield Case("permanent/never", psycopg2.ProgrammingError("no results to fetch"), NEVER)
    yield Case("permanent/never", psycopg2.InterfaceError("cursor already closed"), f"{NEVER} {RECONNECT}")
    yield Case("validation/never", psycopg2.DataError("integer out of range"), NEVER)
    yield Case("validation/never", psycopg2.IntegrityError("duplicate key"), NEVER)
    yield Case("network/exponential", psycopg2.DatabaseError("error with status PGRES_TUPLES_OK and no message from the libpq"), f"{RECONNECT} permanent/never")
    from psycopg2 import pool

    yield Case("resource/exponential", pool.PoolError("connection pool exhausted"), BOUNDED)


@family("psycopg", "PostgreSQL manual, appendix A; psycopg_pool")
def psycopg_cases() -> Iterator[Case]:
    import psycopg
    import psycopg_pool
    from psycopg import errors

    for state, expected, also in states():
        known = _lookup(errors, state)
        if isinstance(known, type):
            yield Case(expected, known("irgendetwas"), also, state)
    yield Case("network/exponential", psycopg.OperationalError("the connection is lost"), RECONNECT)
    yield Case("network/exponential", psycopg.OperationalError("consuming input failed: server closed the connection unexpectedly"), RECONNECT)
    yield Case("network/exponential", psycopg.errors.ConnectionTimeout("connection timeout expired"), BACKOFF)
    yield Case("network/immediate", psycopg.OperationalError("the connection is closed"), RECONNECT)
    yield Case("permission/never", psycopg.OperationalError('connection failed: FATAL:  password authentication failed for user "a"'), NEVER)
    yield Case("permanent/never", psycopg.ProgrammingError("the query has 1 placeholder but 2 parameters were passed"), NEVER)
    yield Case("permanent/never", psycopg.NotSupportedError("pipeline mode requires libpq version 14"), NEVER)
    yield Case("resource/exponential", psycopg_pool.PoolTimeout("couldn't get a connection after 30.00 sec"), BOUNDED)
    yield Case("resource/exponential", psycopg_pool.TooManyRequests("the pool has already 10 requests waiting"), BOUNDED)
    yield Case("network/immediate", psycopg_pool.PoolClosed("the pool 'p' is closed"), f"{RECONNECT} permanent/never")


def _lookup(errors: Any, state: str) -> object:
    try:
        return errors.lookup(state)
    except KeyError:
        return None


@family("asyncpg", "PostgreSQL manual, appendix A; asyncpg.exceptions")
def asyncpg_cases() -> Iterator[Case]:
    import asyncpg

    for name, expected, also in (
        ("CannotConnectNowError", "transient/exponential", BOUNDED), ("TooManyConnectionsError", "resource/linear", BOUNDED),
        ("DeadlockDetectedError", "transient/immediate", "transient/exponential"), ("SerializationError", "transient/immediate", "transient/exponential"),
        ("UniqueViolationError", "validation/never", NEVER), ("InvalidPasswordError", "permission/never", ""),
        ("InvalidAuthorizationSpecificationError", "permission/never", ""), ("ConnectionDoesNotExistError", "network/exponential", RECONNECT),
        ("UndefinedTableError", "permanent/never", NEVER), ("InvalidCatalogNameError", "permanent/never", NEVER),
        ("QueryCanceledError", "transient/exponential", BOUNDED), ("LockNotAvailableError", "transient/exponential", f"{BOUNDED} transient/immediate"),
        ("OutOfMemoryError", "resource/linear", BOUNDED), ("DiskFullError", "resource/linear", BOUNDED), ("AdminShutdownError", "network/exponential", RECONNECT),
        ("InsufficientPrivilegeError", "permission/never", ""), ("NotNullViolationError", "validation/never", NEVER),
        ("InterfaceError", "network/exponential", f"{RECONNECT} permanent/never"), ("InternalClientError", "permanent/never", f"{RECONNECT}"),
        ("InvalidCachedStatementError", "transient/immediate", "transient/exponential"),
    ):  # fmt: skip
        yield Case(expected, getattr(asyncpg.exceptions, name)("told"), also, name)
    yield Case("network/immediate", asyncpg.exceptions.InterfaceError("connection is closed"), RECONNECT)
    yield Case("validation/never", asyncpg.exceptions.DataError("invalid input for query argument $1: 'x'"), NEVER)


@family("PyMySQL", "MySQL reference manual, server and client error messages")
def mysql_cases() -> Iterator[Case]:
    from pymysql import err

    for number, text, expected, also in (
        (1205, "Lock wait timeout exceeded; try restarting transaction", "transient/immediate", BOUNDED),
        (1213, "Deadlock found when trying to get lock", "transient/immediate", "transient/exponential"),
        (1040, "Too many connections", "resource/linear", BOUNDED), (1203, "max_user_connections", "resource/linear", BOUNDED),
        (1045, "Access denied for user", "permission/never", ""), (1044, "Access denied", "permission/never", ""),
        (1142, "SELECT command denied", "permission/never", ""), (1049, "Unknown database", "permanent/never", NEVER),
        (1054, "Unknown column", "permanent/never", NEVER), (1064, "You have an error in your SQL syntax", "permanent/never", NEVER),
        (1146, "Table doesn't exist", "permanent/never", NEVER), (1062, "Duplicate entry", "validation/never", NEVER),
        (1406, "Data too long", "validation/never", NEVER), (1452, "a foreign key constraint fails", "validation/never", NEVER),
        (1048, "Column cannot be null", "validation/never", NEVER), (1366, "Incorrect string value", "validation/never", NEVER),
        (2002, "Can't connect to local server through socket", "network/exponential", BACKOFF),
        (2003, "Can't connect to MySQL server", "network/exponential", BACKOFF), (2006, "MySQL server has gone away", "network/exponential", RECONNECT),
        (2013, "Lost connection to MySQL server during query", "network/exponential", RECONNECT),
        (1290, "--read-only option", "transient/exponential", f"{BOUNDED} {NEVER}"), (3024, "maximum statement execution time exceeded", "transient/exponential", BOUNDED),
        (1317, "Query execution was interrupted", "transient/exponential", BOUNDED), (1114, "The table is full", "resource/linear", BOUNDED),
        (1153, "Got a packet bigger than max_allowed_packet", "validation/never", NEVER), (1305, "PROCEDURE does not exist", "permanent/never", NEVER),
        (1053, "Server shutdown in progress", "network/exponential", BOUNDED), (1021, "Disk full", "resource/linear", BOUNDED),
        (2026, "SSL connection error: certificate verify failed", "permanent/never", NEVER),
        (1690, "BIGINT value is out of range", "validation/never", NEVER), (1364, "Field doesn't have a default value", "validation/never", NEVER),
        (1067, "Invalid default value", "validation/never", NEVER), (1131, "anonymous", "permission/never", NEVER),
        (1820, "You must reset your password", "permission/never", NEVER), (1862, "Your password has expired", "permission/never", NEVER),
        (1206, "The total number of locks exceeds the lock table size", "resource/linear", BOUNDED),
        (3101, "Plugin instructed the server to rollback the current transaction", "transient/immediate", "transient/exponential"),
        (1180, "Got error during COMMIT", "transient/exponential", BOUNDED),
    ):  # fmt: skip
        kind = err.IntegrityError if number in {1062, 1452, 1048} else err.OperationalError
        yield Case(expected, kind(number, text), also, f"{number} {text}")
    yield Case("network/exponential", err.InterfaceError(0, ""), RECONNECT)


@family("sqlite3", "https://www.sqlite.org/rescode.html")
def sqlite_cases() -> Iterator[Case]:
    def run(*statements: str, uri: str = ":memory:") -> BaseException:
        def action() -> None:
            connection = sqlite3.connect(uri, uri=True)
            try:
                for statement in statements:
                    connection.execute(statement)
            finally:
                connection.close()

        return caught(action)

    yield Case("permanent/never", run("select * from missing"), NEVER)
    yield Case("permanent/never", run("selec 1"), NEVER)
    yield Case("validation/never", run("create table t(a unique)", "insert into t values(1)", "insert into t values(1)"), NEVER)
    yield Case("validation/never", run("create table t(a not null)", "insert into t values(null)"), NEVER)
    yield Case("permission/never", sqlite3.OperationalError("attempt to write a readonly database"), NEVER, "no code")
    yield Case("permanent/never", run("select 1", uri="file:/no/such/folder/x.db"), NEVER)
    yield Case("resource/linear", run("pragma max_page_count=1", "create table a(x)", "create table b(x)", "insert into b values(zeroblob(99999))"), BOUNDED)
    for text, name, expected, also in (
        ("database is locked", "SQLITE_BUSY", "transient/exponential", BOUNDED), ("database table is locked", "SQLITE_LOCKED", "transient/exponential", BOUNDED),
        ("database or disk is full", "SQLITE_FULL", "resource/linear", BOUNDED), ("disk I/O error", "SQLITE_IOERR_WRITE", "transient/exponential", f"{BOUNDED} permanent/never"),
        ("attempt to write a readonly database", "SQLITE_READONLY", "permission/never", NEVER),
        ("database disk image is malformed", "SQLITE_CORRUPT", "permanent/never", ""), ("interrupted", "SQLITE_INTERRUPT", "transient/exponential", BOUNDED),
        ("file is not a database", "SQLITE_NOTADB", "permanent/never", NEVER),
    ):  # fmt: skip
        exc: Any = sqlite3.OperationalError(text)
        exc.sqlite_errorname = name
        yield Case(expected, exc, also, name)
    yield Case("transient/exponential", sqlite3.OperationalError("database is locked"), BOUNDED, "no code")
    yield Case("validation/never", sqlite3.InterfaceError("Error binding parameter 0 - probably unsupported type."), f"{NEVER} network/exponential")
    yield Case("permanent/never", sqlite3.ProgrammingError("Cannot operate on a closed database."), f"{NEVER} {RECONNECT}")


@family("SQLAlchemy", "SQLAlchemy: the class tree, error messages")
def alchemy_cases() -> Iterator[Case]:
    import psycopg2
    import sqlalchemy as sa
    from psycopg2 import errors
    from sqlalchemy import exc as sx
    from sqlalchemy.orm import exc as ox

    def wrapped(kind: Any, orig: Exception, dead: bool = False) -> Any:
        return kind("UPDATE t SET a=1", {}, orig, connection_invalidated=dead)

    def coded(state: str) -> Any:
        exc = errors.lookup(state)("etwas ging schief")
        exc.__setstate__({"pgcode": state})
        return exc

    yield Case("validation/never", wrapped(sx.IntegrityError, coded("23505")), NEVER)
    yield Case("validation/never", wrapped(sx.DataError, coded("22001")), NEVER)
    yield Case("permanent/never", wrapped(sx.ProgrammingError, coded("42P01")), NEVER)
    yield Case("permission/never", wrapped(sx.ProgrammingError, coded("42501")), "")
    yield Case("transient/immediate", wrapped(sx.OperationalError, coded("40001")), "transient/exponential")
    yield Case("transient/immediate", wrapped(sx.DBAPIError, coded("40P01")), "transient/exponential")
    yield Case("transient/exponential", wrapped(sx.OperationalError, coded("57014")), BOUNDED)
    yield Case("transient/exponential", wrapped(sx.OperationalError, coded("55P03")), f"{BOUNDED} transient/immediate")
    yield Case("network/exponential", wrapped(sx.OperationalError, coded("57P01"), dead=True), RECONNECT)
    yield Case("resource/linear", wrapped(sx.OperationalError, psycopg2.OperationalError("FATAL:  sorry, too many clients already")), BOUNDED)
    yield Case("network/exponential", wrapped(sx.OperationalError, psycopg2.OperationalError("could not connect to server: Connection refused")), RECONNECT)
    yield Case("network/exponential", wrapped(sx.DBAPIError, psycopg2.DatabaseError("SSL error: unexpected eof while reading"), dead=True), RECONNECT)
    yield Case("transient/exponential", wrapped(sx.OperationalError, sqlite3.OperationalError("database is locked")), BOUNDED)
    yield Case("permanent/never", wrapped(sx.OperationalError, sqlite3.OperationalError("no such table: t")), NEVER)
    yield Case("validation/never", sx.StatementError("told", "q", {}, ValueError("bad")), NEVER)
    for kind, text in (
        (sx.ArgumentError, "Expected string or URL object"), (sx.CompileError, "Can't render element of type"),
        (sx.NoSuchTableError, "t"), (sx.ResourceClosedError, "This result object is closed."),
        (sx.MultipleResultsFound, "Multiple rows were found when exactly one was required"),
        (sx.InvalidRequestError, "A transaction is already begun on this Session."), (sx.NoSuchModuleError, "Can't load plugin"),
        (sx.NoSuchColumnError, "Could not locate column in row"), (sx.NoForeignKeysError, "told"), (sx.AmbiguousForeignKeysError, "told"),
        (sx.IdentifierError, "Identifier is too long"), (sx.NotSupportedError, "told"), (sx.MissingGreenlet, "greenlet_spawn has not been called"),
        (sx.UnboundExecutionError, "told"), (ox.DetachedInstanceError, "Parent instance is not bound to a Session"), (ox.UnmappedClassError, None),
    ):  # fmt: skip
        made: Any = kind(text, {}, Exception("x")) if kind is sx.NotSupportedError else kind(int) if text is None else kind(text)
        yield Case("permanent/never", made, NEVER, kind.__name__)
    yield Case("transient/immediate", ox.StaleDataError("UPDATE statement on table 't' expected to update 1 row(s); 0 were matched."), "transient/exponential permanent/never")
    yield Case("permanent/never", sx.PendingRollbackError("This Session's transaction has been rolled back due to a previous exception"), f"{NEVER} {BOUNDED} transient/immediate")
    yield Case("network/immediate", sx.DisconnectionError("gone"), RECONNECT)
    yield Case("validation/never", caught(lambda: sa.create_engine("nonsense")), NEVER)


@family("pymongo", "MongoDB manual, error codes; pymongo helpers_shared.py")
def mongo_cases() -> Iterator[Case]:
    import bson.errors
    from pymongo import errors as pe

    for code, expected, also in (
        (18, "permission/never", ""), (8000, "permission/never", NEVER), (13435, "transient/exponential", BOUNDED), (11600, "transient/exponential", BOUNDED),
        (11602, "transient/exponential", BOUNDED), (10107, "transient/exponential", BOUNDED), (189, "transient/exponential", BOUNDED),
        (91, "transient/exponential", BOUNDED), (6, "network/exponential", BOUNDED), (7, "network/exponential", BOUNDED), (89, "network/exponential", BOUNDED),
        (9001, "network/exponential", BOUNDED), (262, "transient/exponential", BOUNDED), (64, "transient/exponential", BOUNDED),
        (26, "permanent/never", NEVER), (59, "permanent/never", NEVER), (20, "permanent/never", NEVER), (48, "permanent/never", NEVER),
        (121, "validation/never", NEVER), (2, "validation/never", NEVER), (9, "validation/never", NEVER), (14, "validation/never", NEVER),
        (66, "validation/never", NEVER), (40324, "permanent/never", NEVER), (40353, "permanent/never", f"{NEVER}"),
        (79, "permanent/never", NEVER), (146, "resource/linear", f"{BOUNDED} permanent/never"), (14031, "resource/linear", BOUNDED), (292, "resource/linear", f"{BOUNDED} {NEVER}"),
        (16500, "resource/exponential", LIMITED), (11601, "transient/exponential", f"{BOUNDED} transient/immediate"), (24, "transient/immediate", BOUNDED), (46, "transient/exponential", f"{BOUNDED} transient/immediate"),
        (96, "transient/exponential", NEVER), (85, "permanent/never", NEVER), (31249, "permanent/never", NEVER), (462, "resource/exponential", LIMITED),
    ):  # fmt: skip
        yield Case(expected, pe.OperationFailure("told", code, {"code": code, "ok": 0}), also, f"code {code}")
    yield Case("transient/exponential", pe.ExecutionTimeout("operation exceeded time limit", 50), BOUNDED)
    yield Case("transient/exponential", pe.CursorNotFound("cursor id 1 not found", 43), f"{BOUNDED} transient/immediate permanent/never")
    yield Case("transient/exponential", pe.WTimeoutError("waiting for replication timed out", 64, {}), BOUNDED)
    yield Case("transient/immediate", pe.OperationFailure("x", 251, {"errorLabels": ["TransientTransactionError"]}), "transient/exponential")
    yield Case("transient/exponential", pe.OperationFailure("x", 11602, {"errorLabels": ["RetryableWriteError"]}), BOUNDED)
    yield Case("validation/never", pe.BulkWriteError({"writeErrors": [{"index": 0, "code": 11000, "errmsg": "dup"}], "writeConcernErrors": []}), NEVER)
    yield Case("transient/exponential", pe.BulkWriteError({"writeErrors": [], "writeConcernErrors": [{"code": 64, "errmsg": "timed out"}]}), BOUNDED)
    yield Case("network/exponential", pe.NetworkTimeout("db1:27017: timed out"), BACKOFF)
    yield Case("transient/exponential", pe.NotPrimaryError("not primary", {"code": 10107}), BOUNDED)
    yield Case("network/exponential", pe.ConnectionFailure("refused"), BACKOFF)
    yield Case("permanent/never", pe.ConfigurationError("Server reports wire version 5, but this version requires 7"), NEVER)
    yield Case("validation/never", pe.InvalidURI("Invalid URI scheme"), NEVER)
    yield Case("validation/never", pe.InvalidName("collection names cannot be empty"), NEVER)
    yield Case("validation/never", pe.CollectionInvalid("collection x already exists"), NEVER)
    yield Case("permanent/never", pe.InvalidOperation("Cannot use MongoClient after close"), NEVER)
    yield Case("validation/never", bson.errors.InvalidDocument("cannot encode object"), NEVER)
    yield Case("validation/never", bson.errors.InvalidId("'x' is not a valid ObjectId"), NEVER)


@family("elasticsearch", "Elasticsearch guide: REST API errors; elastic_transport retry_on_status")
def search_cases() -> Iterator[Case]:
    import elastic_transport
    import elasticsearch
    from elasticsearch import helpers

    def api(kind: Any, status: int, error: str, headers: dict[str, str] | None = None) -> Any:
        meta = elastic_transport.ApiResponseMeta(
            status=status, http_version="1.1", headers=elastic_transport.HttpHeaders(headers or {}), duration=0.1, node=None,
        )  # fmt: skip
        return kind(message=error, meta=meta, body={"error": {"type": error, "reason": "told"}, "status": status})

    es = elasticsearch
    yield Case("permanent/never", api(es.NotFoundError, 404, "index_not_found_exception"), NEVER)
    yield Case("validation/never", api(es.BadRequestError, 400, "parsing_exception"), NEVER)
    yield Case("validation/never", api(es.BadRequestError, 400, "document_parsing_exception"), NEVER)
    yield Case("validation/never", api(es.BadRequestError, 400, "resource_already_exists_exception"), NEVER)
    yield Case("validation/never", api(es.BadRequestError, 400, "search_phase_execution_exception"), NEVER)
    yield Case("permission/never", api(es.AuthenticationException, 401, "security_exception"), NEVER)
    yield Case("permission/never", api(es.AuthorizationException, 403, "security_exception"), NEVER)
    yield Case("resource/linear", api(es.ApiError, 429, "cluster_block_exception"), LIMITED)
    yield Case("resource/exponential", api(es.ApiError, 429, "es_rejected_execution_exception"), LIMITED)
    yield Case("resource/exponential", api(es.ApiError, 429, "circuit_breaking_exception"), LIMITED)
    yield Case("transient/exponential", api(es.ApiError, 503, "no_shard_available_action_exception"), BACKOFF)
    yield Case("transient/exponential", api(es.ApiError, 503, "search_phase_execution_exception"), BACKOFF)
    yield Case("transient/exponential", api(es.ApiError, 503, "master_not_discovered_exception"), BACKOFF)
    yield Case("transient/exponential", api(es.ApiError, 504, "timeout_exception"), BACKOFF)
    yield Case("validation/never", api(es.ApiError, 413, "content_too_long"), NEVER)
    yield Case("network/exponential", es.ConnectionError("Connection refused"), BACKOFF)
    yield Case("network/exponential", es.ConnectionTimeout("Connection timed out"), BACKOFF)
    yield Case("permanent/never", elastic_transport.TlsError("certificate verify failed: self-signed certificate"), NEVER)
    yield Case("validation/never", es.SerializationError("Unable to serialize {...}"), NEVER)
    yield Case("permanent/never", api(es.UnsupportedProductError, 200, "not Elasticsearch"), NEVER)
    mapping = [{"index": {"status": 400, "error": {"type": "document_parsing_exception", "reason": "x"}}}]
    yield Case("validation/never", helpers.BulkIndexError("1 document(s) failed to index.", mapping), NEVER)
    busy = [{"index": {"status": 429, "error": {"type": "es_rejected_execution_exception", "reason": "x"}}}]
    yield Case("resource/exponential", helpers.BulkIndexError("1 document(s) failed to index.", busy), LIMITED)


@family("opensearch-py", "the class tree of opensearch-py; Elasticsearch guide")
def opensearch_cases() -> Iterator[Case]:
    from opensearchpy import exceptions as oe

    yield Case("network/exponential", oe.ConnectionError("N/A", "refused", OSError(111, "refused")), BACKOFF)
    yield Case("network/exponential", oe.ConnectionTimeout("TIMEOUT", "timed out", Exception("x")), BACKOFF)
    yield Case("permanent/never", oe.SSLError("N/A", "certificate verify failed", Exception("x")), NEVER)
    yield Case("resource/exponential", oe.TransportError(429, "rejected_execution_exception", {}), LIMITED)
    yield Case("permanent/never", oe.NotFoundError(404, "index_not_found_exception", {}), NEVER)
    yield Case("validation/never", oe.RequestError(400, "mapper_parsing_exception", {}), NEVER)
    yield Case("permission/never", oe.AuthenticationException(401, "Unauthorized", {}), NEVER)
    yield Case("permission/never", oe.AuthorizationException(403, "security_exception", {}), NEVER)
    yield Case("transient/immediate", oe.ConflictError(409, "version_conflict_engine_exception", {}), f"transient/exponential {NEVER}")
    yield Case("transient/exponential", oe.TransportError(503, "master_not_discovered_exception", {}), BACKOFF)
    yield Case("transient/exponential", oe.TransportError(500, "told", {}), BACKOFF)


@family("Django", "https://docs.djangoproject.com/en/stable/ref/exceptions/")
def django_cases() -> Iterator[Case]:
    import psycopg2
    from django.core import exceptions as dx
    from django.db import transaction, utils
    from django.http import Http404
    from django.template import TemplateDoesNotExist, TemplateSyntaxError
    from django.urls import NoReverseMatch

    dead = psycopg2.OperationalError("server closed the connection unexpectedly")
    yield Case("network/exponential", caused(utils.OperationalError("told"), dead), RECONNECT)
    full = psycopg2.OperationalError("FATAL:  sorry, too many clients already")
    yield Case("resource/linear", caused(utils.OperationalError("told"), full), BOUNDED)
    yield Case("validation/never", utils.IntegrityError("UNIQUE constraint failed: a.b"), NEVER)
    yield Case("validation/never", utils.DataError("value too long"), NEVER)
    yield Case("permanent/never", utils.ProgrammingError('relation "a" does not exist'), NEVER)
    yield Case("network/exponential", utils.InterfaceError("connection already closed"), RECONNECT)
    yield Case("transient/exponential", utils.OperationalError("database is locked"), BOUNDED)
    yield Case("permanent/never", transaction.TransactionManagementError("You can't execute queries until the end of the 'atomic' block."), f"{NEVER} {BOUNDED}")
    for kind in (dx.ObjectDoesNotExist, dx.MultipleObjectsReturned, dx.ImproperlyConfigured, dx.FieldDoesNotExist, dx.AppRegistryNotReady, dx.MiddlewareNotUsed, dx.ViewDoesNotExist, Http404, TemplateDoesNotExist, TemplateSyntaxError, NoReverseMatch):  # fmt: skip
        yield Case("permanent/never", kind("connection"), NEVER, kind.__name__)
    yield Case("validation/never", dx.ValidationError("timeout is required"), "permanent/never")
    yield Case("permission/never", dx.PermissionDenied("no"), "")
    yield Case("permission/never", dx.DisallowedHost("Invalid HTTP_HOST header"), NEVER)
    yield Case("validation/never", dx.BadRequest("no"), NEVER)
    yield Case("validation/never", dx.TooManyFieldsSent("The number of GET/POST parameters exceeded"), NEVER)
    yield Case("network/exponential", dx.RequestAborted("client gone"), f"{BACKOFF} permanent/never")
