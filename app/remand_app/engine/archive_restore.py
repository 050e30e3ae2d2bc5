"""Bring archived workflows back to the live tables, one by one or a whole period. Source: D5.

Restored workflows count as restored now, so they stay live for the retention once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal
from uuid import UUID

from remand_app.domain.errors import Busy, IllegalMove, PeriodNotFound, WorkflowNotFound
from remand_app.engine.archive import size_of, verify_pending
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.store import archive_moves, archive_periods, audit, workflows
from remand_app.store import archive_runs as books
from remand_app.store.archive_moves import Outcome
from remand_app.store.archive_periods import Archived
from remand_app.store.database import Connection
from remand_app.telemetry import log

_BATCH: Final = 1000
_MOST_BACK: Final = 10_000
_WHY: Final[dict[Outcome, str]] = {
    "late": "live work would have waited longer than archive.hold_seconds",
    "crowded": f"more than {_MOST_BACK} of its workflows lie in the default partition",
    "gone": "somebody else was first",
}


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back."""

    workflows: int
    path: Literal["period", "batch"]
    period: str | None
    """None: the workflows came from several periods."""
    lock_ms: float | None = None
    """Milliseconds for which live work was locked out; None: it was not locked out."""


def restore(engine: Engine, ids: Sequence[UUID], who: Who) -> Restored:
    """Bring workflows back.

    Raises:
        WorkflowNotFound: there is none of that id, live or archived.
        IllegalMove: one of them is not archived.
        ArchiveMismatch: what arrived is not what left; nothing was changed.

    Transaction: own, one for all. Two at once wait for each other.
    """
    verify_pending(engine)
    wanted = list(dict.fromkeys(ids))
    with engine.database.begin() as connection:
        moved = _bring(engine, connection, wanted, who)
        missing = [workflow_id for workflow_id in wanted if workflow_id not in moved]
        if missing:
            raise _refusal(engine, missing[0])
        for workflow_id in moved:
            _record(engine, connection, who, workflow_id)
    log("archive.restored", period=None, path="batch", workflows=len(moved), by=who.by)
    return Restored(len(moved), "batch", None)


def restore_period(engine: Engine, name: str, who: Who) -> Restored:
    """Restore a whole period: at once if it was moved whole, otherwise by batches.

    Raises:
        PeriodNotFound: the archive has none of that name.
        Busy: it would have kept live work waiting too long, or too much of it is live; nothing was changed.

    Transaction: own, one for the period or for each batch.
    """
    verify_pending(engine)
    archived = find_period(engine, name)
    return _whole(engine, archived, who) if archived.is_whole else _by_batches(engine, archived, who)


def find_period(engine: Engine, name: str) -> Archived:
    """Return a period of the archive.

    Raises:
        PeriodNotFound: it has none of that name.
    """
    for period in archive_periods.listed(engine.database):
        if period.name == name:
            return period
    raise PeriodNotFound(f"the archive has no period {name!r}", hint="see `remand archive status`")


def _whole(engine: Engine, archived: Archived, who: Who) -> Restored:
    before = archive_moves.sums(engine.database, archived.tables)
    drafted = replace(
        books.draft("restore", "period", archived.period, who.by, engine.instant()),
        bytes_before=archived.bytes,
    )
    handed = archive_moves.hand_back(
        engine.database,
        drafted,
        before,
        most=_MOST_BACK,
        hold_seconds=engine.settings.archive.hold_seconds,
        record=lambda connection: _record(engine, connection, who, archived.name),
    )
    if handed.run is None:
        raise Busy(
            f"period {archived.name} was not restored: {_WHY.get(handed.outcome, handed.outcome)}",
            hint="try again when less is going on, or allow more: REMAND_ARCHIVE__HOLD_SECONDS",
        )
    books.note_verified(engine.database, handed.run, engine.instant())
    count = before.counts[0]
    log("archive.restored", period=archived.name, path="period", workflows=count, by=who.by)
    return Restored(count, "period", archived.name, handed.run.lock_ms)


def _by_batches(engine: Engine, archived: Archived, who: Who) -> Restored:
    drafted = books.draft("restore", "batch", archived.period, who.by, engine.instant())
    count = 0
    while ids := archive_periods.ids_in(engine.database, archived, _BATCH):
        with engine.database.begin() as connection:
            moved, _ = archive_moves.restore_batch(connection, drafted, ids, engine.now(connection))
            if not count:
                _record(engine, connection, who, archived.name)
        count += len(moved)
    books.note_size(engine.database, drafted, size_of(engine, archived.name))
    log("archive.restored", period=archived.name, path="batch", workflows=count, by=who.by)
    return Restored(count, "batch", archived.name)


def _bring(engine: Engine, connection: Connection, ids: Sequence[UUID], who: Who) -> set[UUID]:
    """Restore these workflows, with one run for each period they come from."""
    now = engine.now(connection)
    periods = archive_periods.listed(engine.database)
    left, moved = list(ids), set[UUID]()
    for period in (*periods, None):
        of_it = left if period is None else [workflow_id for workflow_id in left if period.holds(workflow_id)]
        left = [workflow_id for workflow_id in left if workflow_id not in of_it]
        if of_it:
            drafted = books.draft("restore", "batch", None if period is None else period.period, who.by, now)
            drafted = replace(drafted, bytes=0 if period is None else period.bytes)
            moved.update(archive_moves.restore_batch(connection, drafted, of_it, now)[0])
    return moved


def _record(engine: Engine, connection: Connection, who: Who, subject: str | UUID) -> None:
    kind, workflow_id = ("period", None) if isinstance(subject, str) else ("workflow", subject)
    entry = audit.Entry("archive.restore", kind, str(subject), workflow_id)
    audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=engine.now(connection))


def _refusal(engine: Engine, workflow_id: UUID) -> WorkflowNotFound | IllegalMove:
    try:
        workflow = workflows.get_workflow(engine.database, workflow_id)
    except WorkflowNotFound as error:
        return error
    return IllegalMove(
        f"workflow {workflow_id} is not archived: it is {workflow.state}, among the live ones",
        details={"workflow_id": str(workflow_id), "state": str(workflow.state)},
    )
