"""Read the codes of databases and brokers: SQLSTATE, MySQL, SQLite, MongoDB and AMQP numbers, labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remand.facts.reading import item
from remand.facts.subject import Subject
from remand.rules.rule import Key

MYSQL_ROOTS: Final = frozenset({"pymysql", "MySQLdb", "mysql", "aiomysql", "asyncmy"})


def labels(facts: Subject) -> Iterator[Key]:
    if "pymongo" in facts.roots:
        labels = (
            facts.get("_error_labels")
            or facts.get("errorLabels")
            or item(facts.get("details"), "errorLabels")
        )
        if isinstance(labels, (list, tuple, set, frozenset)):
            yield from (label for label in labels if isinstance(label, str))
    if facts.names[0] == "sqlalchemy.exc.StatementError" and isinstance(
        facts.get("orig"), (TypeError, ValueError, AttributeError, KeyError)
    ):
        yield "statement-parameter"
    if _is_cut_json(facts):
        yield "json-cut"


def _is_cut_json(facts: Subject) -> bool:
    """Say whether a JSON document broke off: the decoder reached the end and needed more."""
    document, position = facts.get("doc"), facts.get("pos")
    if not isinstance(document, str) or not isinstance(position, int) or not document.strip():
        return False
    return position >= len(document.rstrip()) or facts.get("msg") == "Unterminated string starting at"


def sqlstates(facts: Subject) -> Iterator[Key]:
    code = facts.get("pgcode") or facts.get("sqlstate")
    if not isinstance(code, str):
        first = item(facts.get("args"), 0)
        # pg8000 hands over the server's fields as they come; pyodbc puts the state before the text.
        code = item(first, "C") if isinstance(first, dict) else first if "pyodbc" in facts.roots else None
    if isinstance(code, str) and len(code) == 5:
        # Vertica's own states are those of PostgreSQL with a V for the P.
        is_vertica = "vertica_python" in facts.roots and code[2] == "V"
        yield f"{code[:2]}P{code[3:]}" if is_vertica else code


def mysql(facts: Subject) -> Iterator[Key]:
    number = facts.get("errno") or item(facts.get("args"), 0)
    if isinstance(number, int):
        yield number


def sqlite(facts: Subject) -> Iterator[Key]:
    name = facts.get("sqlite_errorname")
    if isinstance(name, str):
        yield name


def amqp(facts: Subject) -> Iterator[Key]:
    code = facts.get("reply_code") or facts.get("code")
    if isinstance(code, int):
        yield code


def mongo(facts: Subject) -> Iterator[Key]:
    first = item(item(facts.get("details"), "writeErrors"), 0)
    concern = item(item(facts.get("details"), "writeConcernErrors"), 0)
    for code in (item(first, "code"), item(concern, "code"), facts.get("code")):
        if isinstance(code, int):
            yield code
