"""Find workflows: newest first, page by page, never reading more of history than a bound.

Live and tagged workflows are found by indexes, up to a bound. Other filters are applied to the newest rows,
a stretch at a time: a page says how far back it looked, and its cursor
goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from remand_app.domain.errors import InputInvalid
from remand_app.domain.page import MOST_COUNTED, Page
from remand_app.domain.template_reference import split_reference
from remand_app.domain.workflow_filter import WorkflowFilter
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at, id_range, instant_of
from remand_app.store.workflows import Workflow, read_workflows

STRETCH = 20_000
"""Rows that one page looks at where no index leads to what is asked for; that it sorts where one does."""
# Spelled as in the index of live workflows: Postgres does not know which states a list parameter holds.
_IS_LIVE = "workflow.state not in ('complete', 'error', 'cancelled', 'resolved_manually')"
_FIELDS = "workflow.id, workflow.state, workflow.template_id, workflow.tags, workflow.input"
_NEWEST = f"""
select {_FIELDS}
  from remand.workflows workflow
 where workflow.id >= %(low)s and workflow.id < %(high)s
"""
_LIVE = f"""
select {_FIELDS}
  from unnest(%(states)s::text[]) asked(state)
 cross join lateral (
   select {_FIELDS}
     from remand.workflows workflow
    where workflow.state = asked.state
      and {_IS_LIVE}
    order by workflow.state_since
    limit %(stretch)s + 1
 ) workflow
"""
_TAGGED = f"""
select {_FIELDS}
  from remand.workflows workflow
 where workflow.tags @> array[%(tag)s]
 limit %(stretch)s + 1
"""


@dataclass(frozen=True, slots=True)
class FoundWorkflows:
    """A page of workflows; where it was cut off, its `next` goes on from there, even if it has no items."""

    page: Page[Workflow]
    looked_back_to: datetime | None
    """Instant of the oldest row looked at, where the search was cut off there; None: it was not."""


def search(
    database: Database, wanted: WorkflowFilter, *, after: str | None = None, limit: int = 50
) -> FoundWorkflows:
    """Return a page of the workflows that fit, newest first. Transaction: two short ones.

    Raises:
        InputInvalid: the cursor or the prefix is none.
    """
    low, high = _bounds(wanted, after)
    where, arguments = _conditions(wanted)
    arguments |= {"low": low, "high": high, "limit": limit + 1, "stretch": STRETCH}
    # The source is an optimisation fence: without it Postgres might scan all of history for a few rows.
    source = _source(database, wanted, arguments)
    rows = _query(
        database,
        f"""
        with workflow as {source}
        select workflow.id
          from workflow
         where {" and ".join(where)}
         order by workflow.id desc
         limit %(limit)s
        """,
        arguments,
    )
    ids = [row[0] for row in rows]
    if len(ids) > limit:
        total = _count(database, wanted, arguments, where) if after is None else None
        return FoundWorkflows(Page(read_workflows(database, ids[:limit]), str(ids[limit - 1]), total), None)
    last = None if wanted.has_index else _end_of_stretch(database, low, high)
    items = read_workflows(database, ids)
    if last is not None:
        return FoundWorkflows(Page(items, str(last)), instant_of(last))
    return FoundWorkflows(Page(items, None, len(items) if after is None else None), None)


def _count(
    database: Database, wanted: WorkflowFilter, arguments: Mapping[str, Any], where: Sequence[str]
) -> int | None:
    source = _index_for(wanted) or f"{_NEWEST} order by workflow.id desc"
    [(seen, fits)] = _query(
        database,
        f"""
        with workflow as materialized (
          select workflow.*
            from ({source}) workflow
           limit %(most)s)
        select count(*), count(*) filter (where {" and ".join(where)})
          from workflow
        """,
        {**arguments, "most": MOST_COUNTED + 1},
    )
    return None if seen > MOST_COUNTED else fits


def _source(database: Database, wanted: WorkflowFilter, arguments: Mapping[str, Any]) -> str:
    if not wanted.has_index:
        return f"({_NEWEST} order by workflow.id desc limit %(stretch)s)"
    by_index = _index_for(wanted)
    if by_index is None or _are_many(database, by_index, arguments):
        # So many rows match that a scan from the newest one soon finds enough.
        return f"not materialized ({_NEWEST})"
    return f"materialized ({by_index})"


def _index_for(wanted: WorkflowFilter) -> str | None:
    """Return the query that finds all candidates by an index; None: no index applies."""
    return _LIVE if wanted.asks_for_live else _TAGGED if wanted.tag is not None else None


def _are_many(database: Database, source: str, arguments: Mapping[str, Any]) -> bool:
    [(count,)] = _query(database, f"select count(*) from ({source}) workflow", arguments)
    return bool(count > arguments["stretch"])


def _query(database: Database, sql: str, arguments: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    # Without statistics Postgres takes any range of ids for a few rows, and would read and sort all of them.
    with database.cursor() as cursor:
        cursor.execute(f"set local enable_sort = off; {sql}", arguments)
        return cursor.fetchall()


def _end_of_stretch(database: Database, low: UUID, high: UUID) -> UUID | None:
    rows = _query(
        database,
        """
        select id
          from remand.workflows
         where id >= %(low)s
           and id < %(high)s
         order by id desc
        offset %(skipped)s
         limit 1
        """,
        {"low": low, "high": high, "skipped": STRETCH - 1},
    )
    return rows[0][0] if rows else None


def _bounds(wanted: WorkflowFilter, after: str | None) -> tuple[UUID, UUID]:
    lows, highs = [UUID(int=0)], [UUID(int=(1 << 128) - 1)]
    if wanted.submitted_after is not None:
        lows.append(first_id_at(wanted.submitted_after))
    if wanted.submitted_before is not None:
        highs.append(first_id_at(wanted.submitted_before))
    if wanted.id_prefix is not None:
        low, high = id_range(wanted.id_prefix)
        lows.append(low)
        highs.append(UUID(int=min(high.int + 1, (1 << 128) - 1)))
    if after is not None:
        try:
            highs.append(UUID(after))
        except ValueError:
            raise InputInvalid("this is no cursor of this list", hint="begin without one") from None
    return max(lows), min(highs)


def _conditions(wanted: WorkflowFilter) -> tuple[Sequence[str], dict[str, Any]]:
    where, arguments = ["workflow.id >= %(low)s and workflow.id < %(high)s"], dict[str, Any]()
    if wanted.states:
        where.append("workflow.state = any(%(states)s)")
        if wanted.asks_for_live:
            where.append(_IS_LIVE)
        arguments["states"] = [str(state) for state in wanted.states]
    if wanted.tag is not None:
        where.append("workflow.tags @> array[%(tag)s]")
        arguments["tag"] = wanted.tag
    for number, (path, text) in enumerate(wanted.input):
        where.append(f"workflow.input #>> %(path{number})s = %(text{number})s")
        arguments |= {f"path{number}": path.split("."), f"text{number}": text}
    templates = _templates(wanted, arguments)
    if templates:
        where.append(
            f"workflow.template_id in (select id from remand.templates where {' and '.join(templates)})"
        )
    return where, arguments


def _templates(wanted: WorkflowFilter, arguments: dict[str, Any]) -> list[str]:
    where = []
    if wanted.namespace is not None:
        where.append("namespace = %(namespace)s")
        arguments["namespace"] = wanted.namespace
    if wanted.template is not None:
        parts = split_reference(wanted.template)
        for column, value in zip(("namespace", "name", "version"), parts, strict=True):
            if value:
                where.append(f"{column} = %(template_{column})s")
                arguments[f"template_{column}"] = value
    return where
