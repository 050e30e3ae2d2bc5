"""Why a call to Postgres failed: one table for all code that translates the driver's errors.

An error that is not in the table says neither that a value is wrong nor that another try may succeed: a
missing function, an error raised by a user's trigger, a bug of Remand. Source: PostgreSQL, appendix A.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import psycopg2
import psycopg2.errors
import sqlalchemy as sa
from psycopg2 import errorcodes


class Ending(StrEnum):
    """What a failed call says."""

    AWAY = "away"
    """Nothing can be stored at present: wait, and call again."""
    BUSY = "busy"
    """This statement was rolled back; the next try may succeed, and another statement may succeed at once."""
    RIGHT = "right"
    """This role may not do it; a person must grant it."""
    VALUE = "value"
    """Postgres cannot store what it was given, now or later."""


@dataclass(frozen=True, slots=True)
class How:
    """One row of the table."""

    ending: Ending
    drops: bool = False
    """The connection is of no use any more: the next call needs another."""
    hint: str = ""
    """What to do about it, or what it is; empty: what the ending alone says."""


_LOST: Final = How(Ending.AWAY, drops=True)
_BUSY: Final = How(Ending.BUSY)
_VALUE: Final = How(Ending.VALUE)
_READ_ONLY: Final = How(
    Ending.AWAY,
    drops=True,
    hint="it takes no writes: a standby, a failover under way, or default_transaction_read_only of role or"
    " database, which ALTER ROLE … RESET default_transaction_read_only takes back",
)

SQLSTATES: Final[Mapping[str, How]] = {
    "08": _LOST,  # connection exceptions; poolers speak of theirs as 08P01, too
    "22": _VALUE,
    "25006": _READ_ONLY,
    "25P03": _LOST,  # idle in a transaction for too long
    "25P04": _LOST,  # transaction_timeout
    "28": How(Ending.AWAY, drops=True, hint="check user and password, and the server's pg_hba.conf"),
    "3D000": How(Ending.AWAY, drops=True, hint="there is no such database: check its name"),
    "42501": How(Ending.RIGHT),
    "40": _BUSY,  # serialization failure, deadlock
    "40003": _LOST,  # it is unknown whether it was done
    "53": How(Ending.AWAY, hint="the server lacks what it needs: look at its disk and its log"),
    "53100": How(Ending.AWAY, hint="a disk of the server is full: make room there"),
    "53200": How(Ending.BUSY, hint="the server lacks the memory for this statement"),
    "53300": How(Ending.AWAY, drops=True, hint="the server is out of connections: raise max_connections"),
    "53400": How(Ending.BUSY, hint="the server has set a limit, such as temp_file_limit, for one statement"),
    "54": _VALUE,
    "55006": _BUSY,
    "55P03": _BUSY,  # lock_timeout, nowait
    "57": _LOST,  # admin shutdown, crash, starting, stopping, failing over
    "57014": How(Ending.BUSY, hint="it took longer than statement_timeout, or somebody cancelled it"),
    "58": How(Ending.AWAY, hint="the server met an error of its system: look at its log and its disks"),
    "72000": _BUSY,
    "F0": _LOST,
}
"""By SQLSTATE; a class (two letters) stands for all of it that has no row of its own."""

_SILENT: Final = (psycopg2.OperationalError, psycopg2.InterfaceError, psycopg2.InternalError)
"""Classes that, without an SQLSTATE and so without an answer of the server, report a lost connection."""


def _codes_of_classes() -> Iterator[tuple[type[psycopg2.Error], str]]:
    for code in vars(errorcodes).values():
        if isinstance(code, str) and len(code) == 5:
            with contextlib.suppress(KeyError):
                yield psycopg2.errors.lookup(code), code


_CODE_OF: Final[Mapping[type[psycopg2.Error], str]] = dict(_codes_of_classes())
"""The driver's own classes say their SQLSTATE where an error carries none."""


def ending_of(error: BaseException, *, is_closed: bool = False) -> How | None:
    """Return the ending for an error of the driver or of SQLAlchemy; None: the table has none.

    `is_closed`: the connection was found closed after the error; then the error itself does not matter.
    """
    if isinstance(error, sa.exc.TimeoutError):
        return How(Ending.AWAY, hint="all connections of this process are in use")
    if isinstance(error, sa.exc.PendingRollbackError):
        return _LOST  # an earlier call of this transaction lost the connection
    if isinstance(error, sa.exc.DBAPIError):
        is_closed = is_closed or error.connection_invalidated
        error = error.orig or error
    if not isinstance(error, psycopg2.Error):
        return None
    code = error.pgcode or _CODE_OF.get(type(error))
    if code is not None and (known := SQLSTATES.get(code) or SQLSTATES.get(code[:2])) is not None:
        return known
    if is_closed:
        return _LOST
    # "server closed the connection unexpectedly", "SSL connection has been closed": plain, of no subclass.
    silent = isinstance(error, _SILENT) or type(error) is psycopg2.DatabaseError
    if code is None and silent:
        return _LOST
    return _VALUE if code is None and isinstance(error, psycopg2.DataError) else None
