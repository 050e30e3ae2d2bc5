"""Ids as people type them: a whole UUID, or enough of its beginning or end."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from uuid import UUID

import uuid_utils

from remand_app.domain.errors import AmbiguousId, InputInvalid, NotFound
from remand_app.domain.instants import LATEST
from remand_app.store.database import Database

_TYPED = re.compile(r"[0-9a-f-]{1,36}")
_DIGITS = 32
_SHOWN = 5
NEWEST = 50_000


def new_id() -> UUID:
    """Return a new UUIDv7."""
    return UUID(int=uuid_utils.uuid7().int)


def first_id_at(instant: datetime) -> UUID:
    """Return the smallest UUIDv7 of an instant: ids from then on are not less."""
    milliseconds = max(0, int(instant.timestamp() * 1000))
    return UUID(int=(milliseconds << 80) | (0x7 << 76) | (0x2 << 62))


def instant_of(uuid: UUID) -> datetime:
    """Return when a UUIDv7 was made, to the millisecond; beyond our range, the end of the range."""
    return min(datetime.fromtimestamp(min(uuid.int >> 80, 10**14) / 1000, UTC), LATEST)


def id_range(prefix: str) -> tuple[UUID, UUID]:
    """Return the least and the greatest id that begin like this.

    Raises:
        InputInvalid: it is no beginning of an id.
    """
    text = prefix.strip().lower()
    if not _TYPED.fullmatch(text) or len(text.replace("-", "")) > _DIGITS:
        raise InputInvalid(
            f"{prefix!r} is no beginning of an id", hint="an id is hexadecimal, as the lists show it"
        )
    return _bound(text, "0"), _bound(text, "f")


def read_cursor(text: str) -> UUID:
    """Return the id that a list goes on behind.

    Raises:
        InputInvalid: it is no cursor of a list by id.
    """
    try:
        return UUID(text)
    except ValueError:
        raise InputInvalid("this is no cursor of this list", hint="begin without one") from None


def find_id(
    database: Database, table: str, typed: str, missing: type[NotFound], *, older: str | None = None
) -> UUID:
    """Return the id of a row of a table from what a person typed. Transaction: own.

    A prefix uses the primary key. The short form that lists show is the id's end: it is looked for among the
    newest 50 000 rows, so that the search does not grow with history. `older`: a table where a prefix is
    looked for, too.

    Raises:
        missing: nothing fits.
        AmbiguousId: several fit.
    """
    text = typed.strip().lower()
    noun = table.replace("_", " ").removesuffix("s")
    if not _TYPED.fullmatch(text):
        raise missing(f"{typed!r} is no id of a {noun}", hint="an id is hexadecimal, as the lists show it")
    try:
        if len(text) in (32, 36):
            return UUID(text)
    except ValueError:
        raise missing(f"{typed!r} is no id of a {noun}") from None
    bounds = _bound(text, "0"), _bound(text, "f")
    # Each id once: a row may change tables between two statements.
    rows = list(
        dict.fromkeys(
            row
            for name in (table, older)
            if name is not None
            for row in database.call(
                f"select id from remand.{name} where id between %s and %s limit {_SHOWN}", bounds
            )
        )
    ) or database.call(
        f"""
            select newest.id
              from (select id
                      from remand.{table}
                     order by id desc
                     limit {NEWEST}) newest
             where right(newest.id::text, %s) = %s
             limit {_SHOWN}
            """,
        (len(text), text),
    )
    if not rows:
        raise missing(
            f"no {noun} has an id that begins or ends with {typed!r}", hint="an old one: type its beginning"
        )
    if len(rows) > 1:
        listed = ", ".join(str(row[0]) for row in rows[:_SHOWN])
        raise AmbiguousId(f"{typed!r} fits several: {listed}", hint="type more of it")
    unique: UUID = rows[0][0]
    return unique


def _bound(text: str, filler: str) -> UUID:
    digits = text.replace("-", "")[:_DIGITS]
    return UUID(digits + filler * (_DIGITS - len(digits)))
