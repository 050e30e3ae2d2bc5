"""The audit log: what somebody decided, with before and after, written in the transaction that does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.errors import InputInvalid
from remand_app.domain.page import Page
from remand_app.store.conditions import conditions
from remand_app.store.counting import count_rows
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at, new_id
from remand_app.store.rows import columns, read
from remand_app.store.tables import audit_log

T = TypeVar("T")
_CLOCKS_DIFFER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One decision, as it is recorded; `before` and `after` hold what changed, redacted already."""

    verb: str
    """noun.verb, as `step.retry`."""
    kind: str
    """What it was about: workflow, step, dead_letter, group, redrive, queue, breaker, token, …"""
    subject: str
    """Its id or name; a step is `<workflow id>/<step>`."""
    workflow_id: UUID | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


def record(
    connection: sa.Connection, entry: Entry, *, by: str, via: str, reason: str | None, now: datetime
) -> None:
    """Append an entry. Transaction: joins the one that makes the change."""
    values = {name: getattr(entry, name) for name in Entry.__slots__}
    connection.execute(
        sa.insert(audit_log).values(id=new_id(), at=now, by=by, via=via, reason=reason, **values)
    )


def list_page(
    database: Database, kind: type[T], wanted: AuditFilter, *, after: str | None = None, limit: int = 50
) -> Page[T]:
    """Return entries as values of `kind`, newest first, those behind `after`. Transaction: own.

    Raises:
        InputInvalid: `after` is no cursor.
    """
    matching = _matching(wanted)
    if after is not None:
        matching.append(audit_log.c.id < _cursor(after))
    query = (
        sa.select(*columns(kind, audit_log)).where(*matching).order_by(audit_log.c.id.desc()).limit(limit + 1)
    )
    with database.begin() as connection:
        entries: list[Any] = read(kind, connection.execute(query))
    return Page.of(
        entries,
        limit,
        after=after,
        cursor=lambda entry: str(entry.id),
        count=lambda: _total(database, wanted),
    )


def _total(database: Database, wanted: AuditFilter) -> int | None:
    # Conditions that an index answers alone; the index of subjects needs their kind as well.
    kind = wanted.kind if wanted.subject is not None else None
    subject = wanted.subject if wanted.kind is not None else None
    among = replace(wanted, verb=None, kind=kind, subject=subject)
    return count_rows(database, audit_log, _matching(among), _matching(wanted))


def _matching(wanted: AuditFilter) -> list[sa.ColumnElement[bool]]:
    filters = conditions(audit_log, wanted)
    if wanted.since is not None:
        # Ids are ordered by the clock of the process that made them: the index on ids ends the scan.
        filters.append(audit_log.c.id >= first_id_at(wanted.since - _CLOCKS_DIFFER))
    return filters


def _cursor(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise InputInvalid(f"{text!r} is no cursor", hint="take `next` of the page before") from None
