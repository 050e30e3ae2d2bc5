"""Say whether a failure surely came before anything was sent, so that its work cannot have been done.

This holds for a refused connection, an unknown host name and a connect timeout. After a read timeout, a
dropped connection or a response, the other side may have done the work. A doubtful case counts as not known.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from typing import Any, Final

from remand.facts import HOSTILE, Facts, item, read
from remand.rules.rule import under
from remand.wrapped import members_of, wrapped

_DEPTH: Final = 24

_BEFORE: Final = frozenset({
    "builtins.ConnectionRefusedError", "socket.gaierror", "socket.herror",
    *under("requests.exceptions", names="ConnectTimeout"),
    *under("urllib3.exceptions", names="NewConnectionError ConnectTimeoutError NameResolutionError"),
    "urllib3.exceptions.EmptyPoolError",
    *under("httpx", "httpx2", "httpcore", names="ConnectError ConnectTimeout PoolTimeout"),
    *under("aiohttp.client_exceptions", names="ClientConnectorError ConnectionTimeoutError"),
    *under("botocore.exceptions", names="EndpointConnectionError ConnectTimeoutError ProxyConnectionError"),
    *under("pymongo.errors", names="ServerSelectionTimeoutError WaitQueueTimeoutError"),
    *under("kafka.errors", "aiokafka.errors", names="NoBrokersAvailable"),
    *under("psycopg_pool", "psycopg_pool.errors", names="PoolTimeout TooManyRequests"),
    "psycopg.errors.ConnectionTimeout", "sqlalchemy.exc.TimeoutError",
    "paramiko.ssh_exception.NoValidConnectionsError", "smtplib.SMTPConnectError",
    "aiosmtplib.errors.SMTPConnectError", "cassandra.UnresolvableContactPoints",
})  # fmt: skip
"""Classes for connections that were never made, and for programs' own pools; subclasses included."""

_MAYBE: Final = frozenset({
    "builtins.ConnectionResetError", "builtins.BrokenPipeError", "builtins.ConnectionAbortedError",
    *under("requests.exceptions", names="ReadTimeout ChunkedEncodingError HTTPError"),
    *under("urllib3.exceptions", names="ReadTimeoutError ProtocolError ResponseError"),
    *under("httpx", "httpx2", "httpcore", names="ReadTimeout WriteTimeout ReadError WriteError"),
    *under("httpx", "httpx2", "httpcore", names="RemoteProtocolError"),
    *under("aiohttp.client_exceptions", names="ServerDisconnectedError ClientResponseError"),
    "aiohttp.client_exceptions.ClientPayloadError",
    *under("http.client", names="RemoteDisconnected IncompleteRead BadStatusLine"),
    "botocore.exceptions.ReadTimeoutError", "botocore.exceptions.ClientError",
})  # fmt: skip
"""Classes for connections that were made: if one of them led to a failure, nothing is known."""

_ERRNOS: Final = frozenset({errno.ECONNREFUSED, errno.EADDRNOTAVAIL})
_MYSQL: Final = frozenset({2002, 2003, 2005})
"""CR_CONNECTION_ERROR, CR_CONN_HOST_ERROR, CR_UNKNOWN_HOST."""
_MYSQL_ROOTS: Final = frozenset({"pymysql", "MySQLdb", "mysql", "aiomysql", "asyncmy"})
_CURL: Final = frozenset({5, 6, 7})
"""Proxy not resolved, host not resolved, could not connect."""
_TEXTS: Final = {
    "redis": re.compile(r"\AError -?\d+ connecting to|\ATimeout connecting to server"),
    "psycopg2": re.compile(r"\A(connection to server (at|on) .* failed: (Connection refused|timeout expired)"
                           r"|could not (connect to server: Connection refused|translate host name))"),
    "psycopg": re.compile(r"connection failed: .*(refused|timeout expired)|failed to resolve host"),
    # asyncio's and anyio's; Python's own classes only, as all others derive from them.
    "builtins": re.compile(r"\A(Multiple exceptions: )?(\[Errno \d+\] Connect call failed[^\[]*)+\Z"
                           r"|\AAll connection attempts failed\Z"),
    "grpc": re.compile(r"failed to connect to all addresses"),
}  # fmt: skip
"""Phrases of libraries whose classes do not decide, by package."""


def is_nothing_sent(exc: BaseException) -> bool:
    """Say whether nothing can have been sent when it failed. Never raises for what an exception does.

    In a group, this must hold for all members. An exception that was being handled counts against it: if a
    first call got no response, a second call that is refused says nothing about the first.
    """
    try:
        return _says(exc, set(), 0) is True
    except HOSTILE:
        return False


def _says(exc: BaseException, seen: set[int], depth: int) -> bool | None:
    """Return True: nothing was sent; False: something may have been sent; None: it does not say."""
    if id(exc) in seen or depth > _DEPTH:
        return None
    seen.add(id(exc))
    if isinstance(exc, BaseExceptionGroup):
        said = [_says(member, seen, depth + 1) for member in members_of(exc)]
        return all(answer is True for answer in said) and bool(said)
    facts = Facts(exc, None)
    own = _own_word(facts)
    if own is False:
        return False
    inside = [_says(inner, seen, depth + 1) for inner in _led_to(facts)]
    if False in inside:
        return False
    return True if own or True in inside else None


def _led_to(facts: Facts) -> Iterator[BaseException]:
    yield from wrapped(facts)
    context = read(facts.exc, "__context__")
    if isinstance(context, BaseException):
        yield context


def _own_word(facts: Facts) -> bool | None:
    # In some libraries a connect timeout shares a base with a read timeout: the nearest class name counts.
    for name in facts.names:
        if name in _BEFORE:
            return True
        if name in _MAYBE:
            return False
    if facts.status is not None:
        return False
    number = facts.get("errno")
    if isinstance(facts.exc, OSError) and number in _ERRNOS and facts.profile.roots <= {"builtins"}:
        return True
    return True if _by_number(facts) or _by_text(facts) else None


def _by_number(facts: Facts) -> bool:
    first: Any = item(facts.get("args"), 0)
    if not facts.roots.isdisjoint(_MYSQL_ROOTS):
        return first in _MYSQL
    return "pycurl" in facts.roots and first in _CURL


def _by_text(facts: Facts) -> bool:
    first, *others = facts.profile.packages
    packages = [first, *(package for package in others if package != "builtins")]
    return any(package in _TEXTS and _TEXTS[package].search(facts.text) for package in packages)
