"""Read instants as Python can show them, whatever Postgres holds.

Postgres knows years that Python does not, and 'infinity'. Such a value, stored before every interface
refused it or by a user's own SQL, is read as the end of the range: one row must not break the pages that
show it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import psycopg2.extensions

from remand_app.domain.instants import EARLIEST, LATEST

_TIMESTAMPTZ_OID = 1184
_FIRST_YEAR: Final = EARLIEST.year
_LAST_YEAR: Final = LATEST.year
_read: Any = psycopg2.extensions.PYDATETIMETZ


def install() -> None:
    """Use this reading for every timestamptz of this process. Idempotent."""
    kind = psycopg2.extensions.new_type((_TIMESTAMPTZ_OID,), "INSTANT", read)
    psycopg2.extensions.register_type(kind)


def read(text: Any, cursor: Any) -> datetime | None:
    """Return what the driver reads, brought into the range."""
    if text is None:
        return None
    try:
        instant: datetime = _read(text, cursor)
    except (ValueError, OverflowError):
        return EARLIEST if text.endswith("BC") else LATEST
    if instant.tzinfo is None:
        # What the driver makes of the infinities.
        return EARLIEST if text.startswith("-") else LATEST
    if _FIRST_YEAR < instant.year < _LAST_YEAR:
        # Each claim reads an instant: two comparisons of aware instants would cost more than reading one.
        return instant
    return min(max(instant, EARLIEST), LATEST)
