"""Count the rows of a list, up to a bound."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from remand_app.domain.page import MOST_COUNTED
from remand_app.store.database import Database

Condition = sa.ColumnElement[bool]


def count_rows(
    database: Database, table: sa.Table, among: Sequence[Condition], fitting: Sequence[Condition] = ()
) -> int | None:
    """Return how many rows fit; None: there are too many `among` which they would have to be looked for.

    `among` are conditions that an index answers: what else is asked for is looked at row by row.
    Transaction: own, reads only.
    """
    looked_at = (
        sa.select(sa.and_(sa.true(), *fitting).label("fits"))
        .select_from(table)
        .where(*among)
        .limit(MOST_COUNTED + 1)
        .subquery()
    )
    counts = sa.select(sa.func.count(), sa.func.count().filter(looked_at.c.fits)).select_from(looked_at)
    with database.reading() as connection:
        seen, fits = connection.execute(counts).one()
    return None if seen > MOST_COUNTED else fits
