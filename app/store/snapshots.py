"""What a workflow looked like at one instant, for the snapshot of its dead letter: a query for many.

As text, for most are stored as they are: to take one apart in Python costs more than all else about a letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa

from app.domain.snapshot import CUT

MOVES_KEPT = 50
ATTEMPTS_KEPT = 200

_SNAPSHOTS = sa.text(
    "select workflow_id, snapshot from remand.snapshots(:ids, :bytes, :cut, :attempts, :moves)"
)


def read_snapshots(connection: sa.Connection, ids: Sequence[UUID], max_bytes: int) -> dict[UUID, str]:
    """Read each workflow's snapshot as the text of a JSON object: workflow, steps, last attempts, last moves.

    Values that cannot have a place in `max_bytes` are left out and say so; `left_out` is there and empty.
    Transaction: joins.
    """
    limits = {"bytes": max_bytes, "cut": CUT, "attempts": ATTEMPTS_KEPT, "moves": MOVES_KEPT}
    rows = connection.execute(_SNAPSHOTS, {"ids": list(dict.fromkeys(ids)), **limits})
    return {row[0]: row[1] for row in rows}


def worker_names(connection: sa.Connection, ids: Sequence[UUID | None]) -> dict[UUID, str]:
    """Return the node names of incarnations. Transaction: joins."""
    rows = connection.execute(
        sa.text("select id, hostname from remand.workers where id = any(:ids)"),
        {"ids": [one for one in ids if one is not None]},
    )
    return {row[0]: row[1] for row in rows}
