"""The state of workflows at one instant, for the snapshots of their dead letters: one query for many.

Snapshots are read as text, because most are stored unchanged: parsing one in Python costs more than
everything else about a letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa

from remand_app.domain.snapshot import CUT

MOVES_KEPT = 50
ATTEMPTS_KEPT = 200

_SNAPSHOTS = sa.text(
    "select workflow_id, snapshot from remand.snapshots(:ids, :bytes, :cut, :attempts, :moves)"
)


def read_snapshots(connection: sa.Connection, ids: Sequence[UUID], max_bytes: int) -> dict[UUID, str]:
    """Read each workflow's snapshot as the text of a JSON object: workflow, steps, last attempts, last moves.

    A value too large for `max_bytes` is replaced by a note; `left_out` is present and empty.
    Transaction: joins.
    """
    limits = {"bytes": max_bytes, "cut": CUT, "attempts": ATTEMPTS_KEPT, "moves": MOVES_KEPT}
    rows = connection.execute(_SNAPSHOTS, {"ids": list(dict.fromkeys(ids)), **limits})
    return {row[0]: row[1] for row in rows}


def worker_names(connection: sa.Connection, ids: Sequence[UUID | None]) -> dict[UUID, str]:
    """Return the node names of incarnations. Transaction: joins."""
    rows = connection.execute(
        sa.text("select id, hostname from remand.workers where id = any(:ids)"),
        {"ids": [worker for worker in ids if worker is not None]},
    )
    return {row[0]: row[1] for row in rows}
