"""Retry budgets as rows: what is used up, read under a lock, and how far their lines reach.

Lock order: budgets by (namespace, handler), then traffic. Whoever takes both takes them so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from remand_app.domain.retry_budget import Used

_LOCK = sa.text("""
select namespace, handler, attempts, retries, next_at
  from remand.lock_budgets(:namespaces, :handlers, :seconds, :now)
""")
_KEEP = sa.text("""
update remand.retry_budgets budget
   set next_at = kept.next_at
  from unnest(:namespaces, :handlers, cast(:instants as timestamptz[])) kept(namespace, handler, next_at)
 where budget.namespace = kept.namespace
   and budget.handler = kept.handler
""")


@dataclass(frozen=True, slots=True, order=True)
class Budget:
    """Whose retries are counted together."""

    namespace: str
    handler: str


def lock(
    connection: sa.Connection, keys: Iterable[Budget], window_seconds: float, now: datetime
) -> dict[Budget, Used]:
    """Lock budgets and return what of each is used up. Transaction: joins; held to its end."""
    listed = list(keys)
    rows = connection.execute(
        _LOCK,
        {
            "namespaces": [key.namespace for key in listed],
            "handlers": [key.handler for key in listed],
            "seconds": window_seconds,
            "now": now,
        },
    )
    return {Budget(row.namespace, row.handler): Used(row.attempts, row.retries, row.next_at) for row in rows}


def keep(connection: sa.Connection, lines: Mapping[Budget, datetime]) -> None:
    """Store the next free turn of budgets that the caller has locked. Transaction: joins."""
    if not lines:
        return
    connection.execute(
        _KEEP,
        {
            "namespaces": [key.namespace for key in lines],
            "handlers": [key.handler for key in lines],
            "instants": list(lines.values()),
        },
    )
