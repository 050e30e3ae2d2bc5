"""Own what may be wrong with the partitions: gaps, overlaps, tables that do not fit, rows without a period.

Pure: takes what the catalogue says and returns faults, each with its meaning and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal

TABLES = ("workflows", "steps", "attempts", "history")
Home = Literal["live", "archive", "none"]
MANY = 10_000
"""Rows in a table's default partition that are worth a warning; at most one more is counted."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One table of a period, wherever it belongs."""

    table: str
    """The partitioned table: workflows, steps, attempts or history."""
    name: str
    """Of its period."""
    home: Home
    """"live", "archive", or "none": it is attached nowhere, so that nobody sees its rows."""
    starts_at: datetime | None
    """None: attached nowhere, or its bounds are no UUIDs."""
    ends_at: datetime | None
    rows: int
    """Estimate of the last analyze; 0 before the first."""
    bytes: int
    """With indexes and TOAST."""


@dataclass(frozen=True, slots=True)
class DefaultRows:
    """What lies in the default partition of a table; counts end above `MANY`."""

    table: str
    behind: int
    """Rows from before the end of the last period: the archive leaves some there, imports bring some."""
    beyond: int
    """Rows from then on: a period is missing, or a clock is ahead."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem of the partitions."""

    code: str
    level: Literal["fail", "warn"]
    meaning: str
    remedy: str


@dataclass(frozen=True, slots=True)
class _Span:
    name: str
    starts_at: datetime
    ends_at: datetime
    tables: frozenset[str]


def find_faults(
    laid: Sequence[Partition], defaults: Sequence[DefaultRows], ahead: int, now: datetime
) -> list[Fault]:
    """Return what is wrong, failures first; nothing if all is well. `ahead` periods should be to come."""
    spans = _spans(laid)
    faults = [
        *_coverage(spans, ahead, now),
        *_tables(spans, laid),
        *_overlaps(spans, laid),
        *_astray(spans, laid),
        *_defaults(spans, defaults, now),
    ]
    return sorted(faults, key=lambda fault: fault.level)


def _spans(laid: Sequence[Partition]) -> list[_Span]:
    tables: dict[tuple[datetime, datetime, str], set[str]] = {}
    for table in laid:
        if table.home == "live" and table.starts_at and table.ends_at:
            tables.setdefault((table.starts_at, table.ends_at, table.name), set()).add(table.table)
    return [_Span(name, start, end, frozenset(them)) for (start, end, name), them in sorted(tables.items())]


def _coverage(spans: Sequence[_Span], ahead: int, now: datetime) -> Iterator[Fault]:
    if not any(span.starts_at <= now < span.ends_at for span in spans):
        what = f"no period holds {_day(now)}: new workflows fall into the default partition"
        yield Fault("current_missing", "fail", what, _CREATE)
    for (_, until), (then, _) in pairwise(_union(spans)):
        if until > now:
            what = f"no period from {_day(until)} to {_day(then)}"
            yield Fault("gap", "fail", what, _CREATE)
    count = len({span.starts_at for span in spans if span.starts_at > now})
    if count == 0:
        what = "no period is ready for when this one ends"
        yield Fault("next_missing", "fail", what, _CREATE)
    elif count < ahead:
        what = f"{count} of the {ahead} periods ahead are there"
        yield Fault("few_ahead", "warn", what, "beat makes them, within partitions_interval_seconds")


def _union(spans: Sequence[_Span]) -> list[tuple[datetime, datetime]]:
    """Return the stretches that some table has, merged where they touch or overlap."""
    merged: list[tuple[datetime, datetime]] = []
    for span in sorted(spans, key=lambda span: span.starts_at):
        if merged and span.starts_at <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], span.ends_at))
        else:
            merged.append((span.starts_at, span.ends_at))
    return merged


def _tables(spans: Sequence[_Span], laid: Sequence[Partition]) -> Iterator[Fault]:
    loose = {(table.table, table.name) for table in laid if table.home == "none"}
    names = [span.name for span in spans]
    for span in spans:
        if names.count(span.name) > 1:
            tables = " and ".join(sorted(span.tables))
            bounds = f"{tables} have it from {_day(span.starts_at)} to {_day(span.ends_at)}"
            todo = "detach the tables with the wrong bounds and attach them anew, as the documentation says"
            yield Fault(
                "bounds_differ", "fail", f"period {span.name} is not the same everywhere: {bounds}", todo
            )
            continue
        for table in TABLES:
            if table not in span.tables and (table, span.name) not in loose:
                yield Fault("table_missing", "fail", f"period {span.name} has no table {table}", _CREATE)


def _overlaps(spans: Sequence[_Span], laid: Sequence[Partition]) -> Iterator[Fault]:
    for n, span in enumerate(spans):
        for other in spans[n + 1 :]:
            if other.starts_at < span.ends_at and other.name != span.name:
                what = f"periods {span.name} and {other.name} overlap"
                yield Fault("overlap", "fail", what, "tables of one period must have the same bounds")
    for old in laid:
        if old.home != "archive" or old.table != TABLES[0] or not old.starts_at or not old.ends_at:
            continue
        for span in spans:
            if span.starts_at < old.ends_at and old.starts_at < span.ends_at:
                what = f"period {span.name} is live and overlaps {old.name} of the archive"
                yield Fault("archive_overlap", "warn", what, "nothing is lost; restore such workflows by id")


def _astray(spans: Sequence[_Span], laid: Sequence[Partition]) -> Iterator[Fault]:
    bounds = {span.name: span for span in spans}
    for partition in laid:
        table = f"remand.{partition.table}_{partition.name}"
        if partition.home == "none":
            period = bounds.get(partition.name)
            todo = "look at its rows, then attach it to the archive or drop it"
            if period is not None:
                todo = (
                    f"alter table remand.{partition.table} attach partition {table} for values from "
                    f"(remand.uuid7_floor('{period.starts_at.isoformat()}')) to "
                    f"(remand.uuid7_floor('{period.ends_at.isoformat()}'))"
                )
            yield Fault("detached", "fail", f"{table} is attached to nothing: nobody sees its rows", todo)
        elif partition.starts_at is None:
            what = f"the bounds of {table} are no two ids: nobody can tell its period"
            yield Fault("bounds_unreadable", "fail", what, "attach it anew with ids as bounds")


def _defaults(spans: Sequence[_Span], defaults: Sequence[DefaultRows], now: datetime) -> Iterator[Fault]:
    there = {rows.table for rows in defaults}
    for table in TABLES:
        if table not in there:
            todo = f"create table remand.{table}_default partition of remand.{table} default"
            what = f"{table} has no default partition: what has no period is refused"
            yield Fault("default_missing", "fail", what, todo)
    covered = any(span.ends_at > now for span in spans)
    for rows in defaults:
        if rows.beyond:
            count = _counted(rows.beyond)
            what = f"{count} of {rows.table} lie in its default partition, later than every period"
            todo = (
                "their ids are of the future: set the clock of whoever made them right"
                if covered
                else _CREATE
            )
            yield Fault("default_beyond", "fail", what, todo)
        if rows.behind > MANY:
            count = _counted(rows.behind)
            what = f"{count} of {rows.table} lie in its default partition, which grows no smaller"
            yield Fault("default_many", "warn", what, "remand archive run takes those that have ended")


_CREATE = "remand partitions create"


def _counted(rows: int) -> str:
    return f"more than {MANY} rows" if rows > MANY else f"{rows} row{'' if rows == 1 else 's'}"


def _day(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d}" if f"{instant:%H%M%S}" == "000000" else f"{instant:%Y-%m-%d %H:%M}"
