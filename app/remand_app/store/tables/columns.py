"""The parts of every table: one schema, commented columns, checks made from the domain's enumerations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

SCHEMA = "remand"

metadata = sa.MetaData(schema=SCHEMA)
instant = sa.DateTime(timezone=True)
json = JSONB(none_as_null=True)
# A generated id for rows that only need an order; never a key that people see.
history_seq = sa.Sequence("history_seq", metadata=metadata, data_type=sa.BigInteger, cache=1)


def column(name: str, type_: Any, comment: str, **options: Any) -> sa.Column[Any]:
    """Return a column; not nullable unless said."""
    options.setdefault("nullable", False)
    return sa.Column(name, type_, comment=comment, **options)


def one_of(name: str, values: Iterable[str], constraint: str) -> sa.CheckConstraint:
    """Return the check that a column holds one of the domain's words."""
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{name} IN ({listed})", name=constraint)
