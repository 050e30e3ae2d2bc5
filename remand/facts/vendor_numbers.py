"""Read the numbers and names that a vendor puts inside one class: Oracle, SQL Server, Kafka, mail servers.

Each is yielded as in the vendor's own tables, after the name of the table: `ORA-00060`, `MSSQL-1205`,
`CLICKHOUSE-241`, `KAFKA-29`, `ARANGO-1200`, `FACEBOOK-190`, `GREMLIN-598`, `NTSTATUS-C0000022`,
`SNOWFLAKE-390100`, `IMAP-OVERQUOTA`, `POP-SYS/TEMP`, `COSMOS-410`,
`Neo.TransientError.General.DatabaseUnavailable` and its parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Final

from remand.facts.reading import HOSTILE, item, read
from remand.facts.subject import Subject
from remand.rules.rule import Key

_ORACLE = re.compile(r"\b(?:ORA|DPY|DPI|TNS|PLS)-\d{4,5}\b")
_MSSQL_IN_ODBC = re.compile(r"\[SQL Server\].{0,2000}?\((\d{1,6})\) \(SQL|\((\d{3,6})\) \(SQL", re.DOTALL)
_CLICKHOUSE = re.compile(r"\bcode: (\d{1,4})\b", re.IGNORECASE)
_GRAPH_API = re.compile(r'"code": ?(\d{1,7})\b')
_NTSTATUS = re.compile(r"\b0x(c0[0-9a-f]{6})\b", re.IGNORECASE)
_RESPONSE_CODE = re.compile(r"\[([A-Z][A-Z-]{2,25}(?:/[A-Z]+)?)[ \]]")


def _oracle(facts: Subject) -> Iterator[Key]:
    # The first number says what happened; the later ones say during what.
    yield from dict.fromkeys(_ORACLE.findall(facts.text))


def _odbc(facts: Subject) -> Iterator[Key]:
    for match in _MSSQL_IN_ODBC.finditer(facts.text):
        number = int(match[1] or match[2])
        if number:
            yield f"MSSQL-{number}"


def _tds(facts: Subject) -> Iterator[Key]:
    first = item(facts.get("args"), 0)
    number = item(first, 0) if isinstance(first, tuple) else first
    if isinstance(number, int):
        yield f"MSSQL-{number}"


def _clickhouse(facts: Subject) -> Iterator[Key]:
    number = facts.get("code")
    if not isinstance(number, int):
        match = _CLICKHOUSE.search(facts.text)
        number = int(match[1]) if match else None
    if number is not None:
        yield f"CLICKHOUSE-{number}"


def _kafka(facts: Subject) -> Iterator[Key]:
    ask = read(item(facts.get("args"), 0), "code")
    try:
        number = ask() if callable(ask) else None
    except HOSTILE:
        return
    if isinstance(number, int):
        yield f"KAFKA-{number}"


def _snowflake(facts: Subject) -> Iterator[Key]:
    number = facts.get("errno")
    if isinstance(number, int) and number > 0:
        yield f"SNOWFLAKE-{number}"


def _arango(facts: Subject) -> Iterator[Key]:
    number = facts.get("error_code")
    # A conflict of the caller's own revision (412) stays one; a write that met another (409) passes.
    if isinstance(number, int) and facts.status != HTTPStatus.PRECONDITION_FAILED:
        yield f"ARANGO-{number}"


def _gremlin(facts: Subject) -> Iterator[Key]:
    number = facts.get("status_code")
    if isinstance(number, int):
        yield f"GREMLIN-{number}"


def _facebook(facts: Subject) -> Iterator[Key]:
    if (match := _GRAPH_API.search(facts.text)) is not None:
        number = int(match[1])
        # All codes of this hundred are rights that the app or the person lacks.
        yield f"FACEBOOK-{200 if number // 100 == 2 else number}"


def _ntstatus(facts: Subject) -> Iterator[Key]:
    for match in _NTSTATUS.finditer(facts.text):
        yield f"NTSTATUS-{match[1].upper()}"


def _imap(facts: Subject) -> Iterator[Key]:
    for match in _RESPONSE_CODE.finditer(facts.text):
        yield f"IMAP-{match[1]}"


def _pop(facts: Subject) -> Iterator[Key]:
    for match in _RESPONSE_CODE.finditer(facts.text):
        yield f"POP-{match[1]}"


def _cosmos(facts: Subject) -> Iterator[Key]:
    if "azure.cosmos.exceptions.CosmosHttpResponseError" in facts.profile.name_set and facts.status:
        yield f"COSMOS-{facts.status}"


def _neo4j(facts: Subject) -> Iterator[Key]:
    code = facts.get("code")
    if isinstance(code, str) and code.startswith("Neo."):
        parts = code.split(".")[:4]
        yield from (".".join(parts[:end]) for end in range(len(parts), 1, -1))


_READERS: Final[dict[str, Callable[[Subject], Iterator[Key]]]] = {
    **dict.fromkeys(("oracledb", "cx_Oracle"), _oracle),
    **dict.fromkeys(("pyodbc", "aioodbc"), _odbc),
    **dict.fromkeys(("pymssql", "_mssql"), _tds),
    **dict.fromkeys(("clickhouse_driver", "clickhouse_connect", "asynch", "aiochclient"), _clickhouse),
    **dict.fromkeys(("cimpl", "confluent_kafka"), _kafka),
    **dict.fromkeys(("imaplib", "aioimaplib", "imapclient"), _imap),
    "poplib": _pop,
    "snowflake": _snowflake,
    "azure": _cosmos,
    "arango": _arango,
    "facebook_business": _facebook,
    "gremlin_python": _gremlin,
    **dict.fromkeys(("smbprotocol", "impacket"), _ntstatus),
    "neo4j": _neo4j,
}
"""By the package of the class."""

VENDOR_ROOTS: Final = frozenset(_READERS)


def vendor_numbers(facts: Subject) -> Iterator[Key]:
    """Yield the numbers and names, the most telling first."""
    for root in facts.profile.packages:
        if (reader := _READERS.get(root)) is not None:
            yield from reader(facts)
