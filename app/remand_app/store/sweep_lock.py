"""Run each sweep once at a time, across all processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from remand_app.store.database import Database

_TRY = sa.text("select pg_try_advisory_xact_lock(hashtext('remand.sweep.' || :name))")
# The transaction is idle while the sweep runs: no timeout may end it. Older servers lack the second setting.
_STAY = sa.text("""
select set_config(name, '0', true)
  from pg_settings
 where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')
""")


@contextmanager
def alone(database: Database, sweep: str) -> Iterator[bool]:
    """Tell whether nobody else runs this sweep, and keep others from it until the end.

    Transaction: own, which does nothing else and holds no snapshot. The lock ends with it, however this
    process ends, and also works behind poolers.
    """
    with database.begin() as connection:
        connection.execute(_STAY)
        yield bool(connection.scalar(_TRY, {"name": sweep}))
