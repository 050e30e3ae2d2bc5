"""Rules for SQLite: its result codes by name."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import (
    PERMANENT,
    PERMISSION,
    RESOURCE,
    TRANSIENT,
    VALIDATION,
    Rule,
)

_LITE: Final = "https://www.sqlite.org/rescode.html"

RULES: Final = (
    Rule(
        "sqlite.busy",
        "sqlite",
        ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_SCHEMA", "SQLITE_INTERRUPT", "SQLITE_PROTOCOL"),
        TRANSIENT,
        "the database is locked by somebody",
        _LITE,
    ),
    Rule(
        "sqlite.full",
        "sqlite",
        ("SQLITE_FULL", "SQLITE_NOMEM"),
        RESOURCE,
        "the disk or memory is full",
        _LITE,
    ),
    Rule(
        "sqlite.io",
        "sqlite",
        ("SQLITE_IOERR",),
        TRANSIENT,
        "the disk failed to answer",
        _LITE,
        confidence=0.7,
    ),
    Rule(
        "sqlite.denied",
        "sqlite",
        ("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"),
        PERMISSION,
        "the database may not be written",
        _LITE,
    ),
    Rule(
        "sqlite.data",
        "sqlite",
        ("SQLITE_CONSTRAINT", "SQLITE_TOOBIG", "SQLITE_MISMATCH", "SQLITE_RANGE"),
        VALIDATION,
        "the database refuses the row",
        _LITE,
    ),
    Rule(
        "sqlite.broken",
        "sqlite",
        ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_CANTOPEN", "SQLITE_ERROR", "SQLITE_MISUSE"),
        PERMANENT,
        "the database or the statement is wrong",
        _LITE,
    ),
)
