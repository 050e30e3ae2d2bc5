"""Make and check workflow ids: the time in an id decides in which partition the workflow is stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from remand_app.domain.errors import InputInvalid
from remand_app.store.ids import instant_of, new_id

CLOCKS_DIFFER = timedelta(days=1)
EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)
"""No real UUIDv7 is older than this: a machine without a clock of its own begins in 1970 or 2000."""


def workflow_id(wanted: UUID | None, position: int) -> UUID:
    """Return a workflow id: a new one, or the given one, whose time must be near ours.

    `position`: of the workflow among those submitted together, for the error.

    Raises:
        InputInvalid: it is no UUIDv7, or of a time that cannot be.
    """
    made = new_id()
    if wanted is None:
        return made
    wrong = None
    if wanted.version != 7:
        wrong = f"of version {wanted.version}: ids are UUIDv7, which sort by time"
    elif instant_of(wanted) > instant_of(made) + CLOCKS_DIFFER:
        wrong = f"of {instant_of(wanted):%Y-%m-%d}, which is to come"
    elif instant_of(wanted) < EARLIEST:
        wrong = f"of {instant_of(wanted):%Y-%m-%d}, when there were none"
    if wrong is not None:
        raise InputInvalid(
            f"id {wanted} is {wrong}",
            hint="make ids with a clock that is right: they say where a workflow is stored",
            details={"position": position},
        )
    return wanted
