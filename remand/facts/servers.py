"""Read the codes of databases and brokers: SQLSTATE, MySQL, SQLite, MongoDB and AMQP numbers, labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remand.facts.reading import item, read
from remand.facts.subject import AMQP_ROOTS, Subject
from remand.rules.rule import Key

_MYSQL_ROOTS: Final = frozenset({"pymysql", "MySQLdb", "mysql", "aiomysql", "asyncmy"})


def labels(facts: Subject) -> Iterator[Key]:
    exc = facts.exc
    if "pymongo" in facts.roots:
        labels = (
            read(exc, "_error_labels")
            or read(exc, "errorLabels")
            or item(read(exc, "details"), "errorLabels")
        )
        if isinstance(labels, (list, tuple, set, frozenset)):
            yield from (label for label in labels if isinstance(label, str))
    if facts.names[0] == "sqlalchemy.exc.StatementError" and isinstance(
        read(exc, "orig"), (TypeError, ValueError, AttributeError, KeyError)
    ):
        yield "statement-parameter"
    if _is_cut_json(exc):
        yield "json-cut"


def _is_cut_json(exc: BaseException) -> bool:
    """Say whether a JSON document broke off: the decoder wanted more where there was no more."""
    document, position = read(exc, "doc"), read(exc, "pos")
    if not isinstance(document, str) or not isinstance(position, int) or not document.strip():
        return False
    return position >= len(document.rstrip()) or read(exc, "msg") == "Unterminated string starting at"


def sqlstates(facts: Subject) -> Iterator[Key]:
    exc = facts.exc
    code = read(exc, "pgcode") or read(exc, "sqlstate")
    if not isinstance(code, str):
        first = item(read(exc, "args"), 0)
        code = item(first, "C") if isinstance(first, dict) else first if "pyodbc" in facts.roots else None
    if isinstance(code, str) and len(code) == 5:
        yield code


def mysql(facts: Subject) -> Iterator[Key]:
    if facts.roots & _MYSQL_ROOTS:
        number = read(facts.exc, "errno") or item(read(facts.exc, "args"), 0)
        if isinstance(number, int):
            yield number


def sqlite(facts: Subject) -> Iterator[Key]:
    name = read(facts.exc, "sqlite_errorname")
    if isinstance(name, str):
        yield name


def amqp(facts: Subject) -> Iterator[Key]:
    if facts.roots & AMQP_ROOTS:
        code = read(facts.exc, "reply_code") or read(facts.exc, "code")
        if isinstance(code, int):
            yield code


def mongo(facts: Subject) -> Iterator[Key]:
    if "pymongo" not in facts.roots:
        return
    first = item(item(read(facts.exc, "details"), "writeErrors"), 0)
    concern = item(item(read(facts.exc, "details"), "writeConcernErrors"), 0)
    for code in (item(first, "code"), item(concern, "code"), read(facts.exc, "code")):
        if isinstance(code, int):
            yield code
