"""What every revision after 0002 does: tables by hand, then functions and views that `make schema` copied.

Beside `versions/0003_name.py` lies `sql/0003/`: `tables.sql` and its reverse `down.sql`, both optional, and
one file per function or view. Going back brings back the text that the newest earlier revision had.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from types import MappingProxyType

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy.exc import ProgrammingError

from remand_migrations.indexes import Index
from remand_migrations.texts import newest_texts, number, texts_of

_SERVES = sa.text("update remand.schema_version set serves = array_append(serves, :revision)")


class Revision:
    """One revision, and what `remand migrate --plan` says of it.

    Args:
        file: `__file__` of its module.
        serves: the oldest revision whose code goes on beside it, and may be started anew.
        locks: the tables that it keeps others from while it runs, with the mode of Postgres. Views that it
            replaces, and what `indexes` takes, need not be said.
        indexes: made beside live work, outside a transaction. Such a revision does nothing else.
        retires: functions that it drops: no code that it serves calls them any more.
    """

    def __init__(
        self,
        file: str,
        *,
        serves: str,
        locks: Mapping[str, str] = MappingProxyType({}),
        indexes: tuple[Index, ...] = (),
        retires: tuple[str, ...] = (),
    ) -> None:
        self.name = Path(file).stem.partition("_")[0]
        self.folder = Path(file).parent.parent / "sql" / self.name
        self.serves = serves
        self.locks = locks
        self.indexes = indexes
        self.retires = retires

    def upgrade(self) -> None:
        """Make the indexes; or else change the tables, then make the functions and views."""
        if self.indexes:
            with op.get_context().autocommit_block():
                for index in self.indexes:
                    index.make(op.get_bind(), self._say)
        else:
            self._change()
        op.get_bind().execute(_SERVES, {"revision": self.serves})

    def downgrade(self) -> None:
        """Bring back what was before; `down.sql` says what is lost."""
        _run("update remand.schema_version set serves = serves[:cardinality(serves) - 1]")
        for index in self.indexes:
            index.drop(op.get_bind())
        made = texts_of(self.folder)
        earlier = newest_texts(before=number(self.folder))
        _run("set local check_function_bodies = off")
        _create({name: earlier[name] for name in (*made, *self.retires) if name in earlier})
        _drop(made, made.keys() - earlier.keys())
        _run_file("down", self.folder)
        _grant_views_to_reader()

    def _change(self) -> None:
        texts = texts_of(self.folder)
        self._say("tables")
        _run_file("tables", self.folder)
        self._say(f"{len(texts)} functions and views")
        _run("set local check_function_bodies = off")
        _create(texts)
        _drop(newest_texts(before=number(self.folder)), self.retires)
        _grant_views_to_reader()

    def _say(self, text: str) -> None:
        context.config.attributes["say"](f"{self.name}: {text}")


def _create(texts: dict[str, str]) -> None:
    for name in _callees_first(texts):
        try:
            with op.get_bind().begin_nested():
                _run(texts[name])
        except ProgrammingError:
            # A view does not lose or reorder columns by being replaced.
            if not is_view(texts[name]):
                raise
            _run(f"drop view remand.{name}")
            _run(texts[name])


def _drop(texts: dict[str, str], names: Iterable[str]) -> None:
    for name in reversed(_callees_first({name: texts[name] for name in names})):
        _run(f"drop {'view' if is_view(texts[name]) else 'function'} remand.{name}")


def _callees_first(texts: dict[str, str]) -> list[str]:
    """Order by need: views and bodies parsed when made need what they name, others may come first."""
    parsed = {name for name, text in texts.items() if "$$" not in text}
    needs = {
        name: {other for other in re.findall(r"remand\.(\w+)", text) if other in texts and other != name}
        if name in parsed
        else set[str]()
        for name, text in sorted(texts.items())
    }
    return list(TopologicalSorter(needs).static_order())


def is_view(text: str) -> bool:
    """Return whether a text makes a view."""
    return "create or replace view" in text


def _run_file(name: str, folder: Path) -> None:
    path = folder / f"{name}.sql"
    if path.exists():
        _run(path.read_text())


def _run(text: str) -> None:
    op.get_bind().exec_driver_sql(text.replace("%", "%%"))


def _grant_views_to_reader() -> None:
    """Let the role of those who watch, where there is one, read the views that were made anew."""
    _run(
        """
        do $$
        declare v_view text;
        begin
          if exists (select from pg_roles where rolname = 'remand_reader') then
            for v_view in
              select viewname from pg_views where schemaname = 'remand' and starts_with(viewname, 'v_')
            loop
              execute format('grant select on remand.%I to remand_reader', v_view);
            end loop;
          end if;
        end $$
        """
    )
