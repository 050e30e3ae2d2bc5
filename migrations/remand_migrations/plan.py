"""What revisions that are to run will do, and to which tables: their own word, with sizes of Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import sqlalchemy as sa

from remand_migrations.order import VERSIONS, is_before, revisions, way
from remand_migrations.revision import Revision, is_view
from remand_migrations.runner import scripts_of
from remand_migrations.texts import texts_of

ALL = "ACCESS EXCLUSIVE"
"""Nobody reads or writes meanwhile."""
BESIDE = "SHARE UPDATE EXCLUSIVE"
"""All read and write on; vacuum and other changes of the table wait."""
# Their files say nothing: they are frozen.
_FIRST: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "0001": ("0001", {}),
    "0002": (
        "0001",
        {
            "steps": ALL,
            "steps_archive": ALL,
            "template_steps": ALL,
            "workflows": ALL,
            "workflows_archive": ALL,
        },
    ),
}
# An estimate: what the last analyze counted. A view has none.
_SIZE = sa.text("""
select coalesce(sum(greatest(relation.reltuples, 0)) filter (where relation.relkind = 'r'), 0)::bigint
         as rows,
       coalesce(sum(pg_total_relation_size(relation.oid)), 0)::bigint as bytes,
       count(*) > 0 as exists
  from pg_class relation
 where relation.oid = to_regclass(:name)
    or relation.oid in (select tree.relid from pg_partition_tree(to_regclass(:name)) tree)
""")


@dataclass(frozen=True, slots=True)
class TableLock:
    """A table or view that a revision keeps others from, with all its partitions."""

    table: str
    mode: str
    rows: int
    """About: as Postgres last counted."""
    bytes: int
    """With indexes and large values."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A revision that is to run."""

    revision: str
    does: str
    is_undone: bool
    in_transaction: bool
    serves: str | None
    """The oldest revision whose code goes on beside it; None: it is undone, its own code must stop before."""
    locks: list[TableLock] | None
    """None: it is undone, nothing is said of that."""


def plan(
    connection: sa.Connection,
    before: str | None,
    target: str | None,
    places: tuple[Path, ...] = (VERSIONS,),
) -> list[Planned]:
    """Return what a run from one revision to another would do, in order; None: no schema."""
    scripts = scripts_of(places)
    is_undone = is_before(target, before)
    return [
        _planned(connection, scripts.get_revision(name).module, is_undone=is_undone)
        for name in way(revisions(places), before, target)
    ]


def locks_of(module: ModuleType) -> dict[str, str]:
    """Return the tables and views that a revision keeps others from, with the mode, where they exist."""
    revision = getattr(module, "_revision", None)
    if not isinstance(revision, Revision):
        return dict(_FIRST[module.revision][1])
    views = {name: ALL for name, text in texts_of(revision.folder).items() if is_view(text)}
    return {**views, **revision.locks, **{index.table: BESIDE for index in revision.indexes}}


def serves(module: ModuleType) -> str:
    """Return the oldest revision whose code goes on beside a revision."""
    revision = getattr(module, "_revision", None)
    return revision.serves if isinstance(revision, Revision) else _FIRST[module.revision][0]


def _planned(connection: sa.Connection, module: ModuleType, *, is_undone: bool) -> Planned:
    revision = getattr(module, "_revision", None)
    return Planned(
        module.revision,
        (module.__doc__ or "").partition("\n")[0],
        is_undone,
        in_transaction=not getattr(revision, "indexes", ()),
        serves=None if is_undone else serves(module),
        locks=None if is_undone else _sized(connection, locks_of(module)),
    )


def _sized(connection: sa.Connection, locks: Mapping[str, str]) -> list[TableLock]:
    sizes = {name: connection.execute(_SIZE, {"name": f"remand.{name}"}).one() for name in locks}
    return [
        TableLock(name, locks[name], size.rows, size.bytes)
        for name, size in sorted(sizes.items(), key=lambda entry: -entry[1].bytes)
        if size.exists
    ]
