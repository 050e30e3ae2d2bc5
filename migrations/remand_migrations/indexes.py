"""Indexes that are made beside live work: `create index concurrently`, partition by partition.

Idempotent: what a kill left invalid is dropped and made again, what is there is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy as sa

_PARTITIONS = sa.text("""
select tree.relid::regclass::text as name
  from pg_partition_tree(to_regclass(:table)) tree
 where tree.isleaf and tree.relid <> to_regclass(:table)
 order by pg_relation_size(tree.relid), 1
""")
_IS_VALID = sa.text("select indisvalid from pg_index where indexrelid = to_regclass(:index)")
_IS_ATTACHED = sa.text("select relispartition from pg_class where oid = to_regclass(:index)")
_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class Index:
    """An index of a table of the schema: `on` is what follows the table's name, "(a, b) where c"."""

    name: str
    table: str
    on: str

    def make(self, connection: sa.Connection, say: Callable[[str], None]) -> None:
        """Make it. Transaction: none; each statement is its own."""
        partitions = list(connection.scalars(_PARTITIONS, {"table": f"remand.{self.table}"}))
        if not partitions:
            say(f"index {self.name} on {self.table}")
            self._beside_live_work(connection, self.name, f"remand.{self.table}")
            return
        if connection.scalar(_IS_VALID, {"index": f"remand.{self.name}"}) is None:
            connection.execute(sa.text(f"create index {self.name} on only remand.{self.table} {self.on}"))
        for number, partition in enumerate(partitions, start=1):
            say(f"index {self.name} on {partition} ({number} of {len(partitions)})")
            self._of_partition(connection, partition)

    def drop(self, connection: sa.Connection) -> None:
        """Drop it: an index of a partitioned table cannot be dropped beside live work, but it is quick."""
        connection.execute(sa.text(f"drop index if exists remand.{self.name}"))

    def _of_partition(self, connection: sa.Connection, partition: str) -> None:
        part = f"{partition.rpartition('.')[2]}_{self.name}"[:_LONGEST_NAME]
        if connection.scalar(_IS_ATTACHED, {"index": f"remand.{part}"}):
            return
        self._beside_live_work(connection, part, partition)
        connection.execute(sa.text(f"alter index remand.{self.name} attach partition remand.{part}"))

    def _beside_live_work(self, connection: sa.Connection, name: str, table: str) -> None:
        is_valid = connection.scalar(_IS_VALID, {"index": f"remand.{name}"})
        if is_valid:
            return
        # It waits for transactions that were there before it, and nobody waits for it.
        connection.execute(sa.text("set lock_timeout = 0"))
        if is_valid is False:
            connection.execute(sa.text(f"drop index concurrently remand.{name}"))
        connection.execute(sa.text(f"create index concurrently {name} on {table} {self.on}"))
        connection.execute(sa.text("set lock_timeout = '500ms'"))
