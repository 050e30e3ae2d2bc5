"""Rules for ArangoDB and for servers of Gremlin: by the error numbers within one class for each verb."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    EXPONENTIAL,
    NETWORK,
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
)

_TABLE: Final = "https://docs.arangodb.com/stable/develop/error-codes-and-meanings/"
_GREMLIN: Final = "https://tinkerpop.apache.org/docs/current/dev/provider/ (response status codes)"


def _numbers(table: str, numbers: str) -> tuple[str, ...]:
    return tuple(f"{table}-{number}" for number in numbers.split())


RULES: Final = (
    Rule(
        "arango.denied",
        "vendor",
        _numbers("ARANGO", "11 1004 1700 1702 1703 1704 1705 9001"),
        PERMISSION,
        "ArangoDB refuses the login, the right or the write",
        _TABLE,
    ),
    Rule(
        "arango.met",
        "vendor",
        _numbers("ARANGO", "18 28 29 1107 1200 1303 1601"),
        TRANSIENT,
        "the write met another one, or a lock",
        _TABLE,
    ),
    Rule(
        "arango.moving",
        "vendor",
        _numbers("ARANGO", "30 503 504 408 1404 1446 1447 1457 1478 1489 1490 1491 1495 1496 1500"),
        TRANSIENT,
        "the server stops, or the cluster is choosing who leads",
        _TABLE,
    ),
    Rule(
        "arango.connection",
        "vendor",
        _numbers("ARANGO", "1465 2001 2002 2003"),
        NETWORK,
        "a connection failed",
        _TABLE,
    ),
    Rule(
        "arango.used-up",
        "vendor",
        _numbers("ARANGO", "3 32 1104 21003 21004"),
        RESOURCE,
        "memory, disk or the server's queue is full",
        _TABLE,
        EXPONENTIAL,
    ),
    Rule(
        "arango.refused",
        "vendor",
        _numbers("ARANGO", "1005 1207 1210 1220 1221 1222 1226 1227 1233 1505 1550 1551 1552 1561 1572"),
        VALIDATION,
        "ArangoDB refuses the data",
        _TABLE,
    ),
    Rule(
        "arango.missing",
        "vendor",
        _numbers("ARANGO", "14 1202 1203 1212 1228 1501 1540 1541 1570 1571 1582 1591 1600 1655 1924"),
        PERMANENT,
        "what the query names is not there, or it is no query",
        _TABLE,
    ),
    Rule(
        "gremlin.refused",
        "vendor",
        _numbers("GREMLIN", "497 498 499 597 599"),
        PERMANENT,
        "the traversal, its arguments or its result are refused",
        _GREMLIN,
    ),
    Rule(
        "gremlin.passing",
        "vendor",
        _numbers("GREMLIN", "596 598"),
        TRANSIENT,
        "the server was not done in time, or says that it will pass",
        _GREMLIN,
    ),
)
