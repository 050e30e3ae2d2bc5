"""One of a sweep at a time, across all processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from app.store.session import Database

_TRY = sa.text("select pg_try_advisory_xact_lock(hashtext('remand.sweep.' || :name))")
# It idles for as long as the sweep takes, which no server is to take for a mistake. Not all know the second.
_STAY = sa.text("""
select set_config(name, '0', true) from pg_settings
 where name in ('idle_in_transaction_session_timeout', 'transaction_timeout')
""")


@contextmanager
def alone(database: Database, sweep: str) -> Iterator[bool]:
    """Tell whether nobody else runs this sweep, and keep others from it until the end.

    Transaction: own, which does nothing else and holds no snapshot. The lock goes with it, whatever becomes
    of this process, and holds behind poolers, too.
    """
    with database.begin() as connection:
        connection.execute(_STAY)
        yield bool(connection.scalar(_TRY, {"name": sweep}))
