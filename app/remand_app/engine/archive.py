"""Move finished workflows into the archive: by whole periods where possible, otherwise by batches.

A whole period is moved in a moment, whatever its size. It is inspected, counted and hashed beforehand, while
normal work goes on. Its workflows that must stay live move to the default partitions and are archived later.
After the move the period is counted and hashed again; if the result differs, the period is handed back. Each
step is one transaction and finds out for itself what is left to do: if a process dies half way, the next
sweep continues, and two sweeps at once change nothing twice. Source: D5.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Final, Literal
from uuid import UUID

from remand_app.domain.archive import Stay, Way, cutoff, due_at, kept_outcomes, way_of
from remand_app.domain.errors import ArchiveMismatch, Busy
from remand_app.domain.partitions import Period
from remand_app.engine.engine import Engine
from remand_app.engine.sweeps.passing_over import act_passing_over
from remand_app.store import archive_candidates, archive_moves, archive_periods, diagnosis
from remand_app.store import archive_runs as books
from remand_app.store import partitions as live
from remand_app.store.archive_candidates import Between, PeriodInspection, Rule
from remand_app.store.archive_moves import Outcome
from remand_app.store.archive_periods import Archived
from remand_app.store.archive_runs import Run, Sums
from remand_app.store.database import NOT_NOW
from remand_app.store.sweep_lock import alone
from remand_app.store.tables import PARTITIONED
from remand_app.telemetry import log

SWEEP: Final = "archive"
_AWAY: Final = (*NOT_NOW, ArchiveMismatch)
"""Errors that no single workflow is to blame for."""
_TRIES: Final = 3
_MOST_BACK: Final = 10_000
"""Most workflows that stayed live and that a period takes back when it is handed back."""
_NOTHING: Final = Sums((0, 0, 0, 0), 0)


Deferral = Literal["late", "changed", "crowded"]
"""`late`: others held its tables longer than the allowed wait; `changed`: others kept changing its rows."""


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """What one run moved into the archive."""

    workflows: int = 0
    periods: int = 0
    """Periods that were moved as a whole."""
    stayed: int = 0
    """Workflows of these periods that went to the default partition."""
    is_finished: bool = True
    """False: the time ran out; the next run continues."""
    is_alone: bool = True
    """False: another run was under way, so this one did nothing."""
    deferred: Mapping[str, Deferral] = field(default_factory=dict)
    """Due periods that could not be moved, by name, with the reason; the next run tries again."""

    @property
    def moved(self) -> int:
        """Workflows that are archived now."""
        return self.workflows


@dataclass(frozen=True, slots=True)
class Planned:
    """What a run would do with one period, or with the default partition."""

    period: str
    starts_at: datetime | None
    ends_at: datetime | None
    way: Way
    go: int
    """Workflows that would be archived."""
    stay: Mapping[Stay, int]
    """Workflows that would stay, by reason."""


@dataclass(slots=True)
class _Job:
    """One run: its parameters, and what it has done so far."""

    engine: Engine
    by: str
    now: datetime
    rule: Rule
    has_time: Callable[[], bool]
    workflows: int = 0
    periods: int = 0
    stayed: int = 0
    deferred: dict[str, Deferral] = field(default_factory=dict)

    def count(self, run: Run) -> None:
        self.workflows += run.workflows
        self.stayed += run.stayed
        self.periods += run.path == "period" and run.workflows > 0


def run(engine: Engine, *, by: str = SWEEP, monotonic: Callable[[], float] = time.monotonic) -> ArchiveResult:
    """Archive what is due until nothing is left or the time is up. One run at a time; others do nothing.

    Raises:
        ArchiveMismatch: what arrived is not what left; it was taken back. What else was due was archived.
        Busy: others held the tables of a period all the time. The same.

    Transaction: one for each period or batch. Idempotent: what is archived is not due.
    """
    until = monotonic() + engine.settings.archive.budget_seconds
    with alone(engine.database, "archive") as is_alone:
        if not is_alone:
            return ArchiveResult(is_alone=False)
        verify_pending(engine)
        job = _job(engine, by, lambda: monotonic() < until)
        moves = [partial(_move_period, job, period) for period in _due(job)]
        failed = _each(job, moves)
        ranges = _ranges(archive_periods.listed(engine.database))
        moves = [
            partial(_move_batches, job, books.DEFAULT, archived, between) for archived, between in ranges
        ]
        failed += _each(job, moves)
        if failed:
            raise failed[0]
        return ArchiveResult(
            job.workflows,
            job.periods,
            job.stayed,
            is_finished=job.has_time(),
            deferred=job.deferred,
        )


def _each(job: _Job, moves: Sequence[Callable[[], None]]) -> list[ArchiveMismatch | Busy]:
    """Run the moves in order while there is time. A move that fails holds up no other."""
    failed: list[ArchiveMismatch | Busy] = []
    for move in moves:
        if job.has_time():
            try:
                move()
            except (ArchiveMismatch, Busy) as error:
                failed.append(error)
    return failed


def plan(engine: Engine) -> list[Planned]:
    """Return what a run would do now, by period. Changes nothing; reads every workflow of the due periods."""
    job = _job(engine, SWEEP, lambda: True)
    archived = archive_periods.listed(engine.database)
    planned = []
    for period in _due(job):
        looked = _look(job, period)
        is_begun = _is_begun(period, archived) or archive_periods.is_spilled(engine.database, period)
        way = way_of(looked.census, _most(job), is_begun=is_begun)
        go = looked.census.go if way in (Way.PERIOD, Way.BATCH) else 0
        planned.append(Planned(period.name, period.starts_at, period.ends_at, way, go, looked.census.stay))
    ranges = [between for _, between in _ranges(archived)]
    left = sum(archive_candidates.count_default(engine.database, between, job.rule) for between in ranges)
    if left:
        planned.append(Planned(books.DEFAULT, None, None, Way.BATCH, left, {}))
    return planned


def verify_pending(engine: Engine) -> None:
    """Verify moves whose process died before it could verify them. Transaction: some own ones.

    Raises:
        ArchiveMismatch: what arrived is not what left; it was handed back.
    """
    there = {period.name for period in archive_periods.listed(engine.database) if period.is_whole}
    for run in books.unverified(engine.database):
        if run.kind == "archive" and run.period in there:
            _verify(engine, run)
        else:
            books.note_verified(engine.database, run, _now(engine))


def size_of(engine: Engine, period: str) -> int:
    """Return the size in bytes of a period's archive tables, or of the default archive partitions."""
    if period == books.DEFAULT:
        return archive_periods.size(
            engine.database, [f"{table}_archive_{books.DEFAULT}" for table in PARTITIONED]
        )
    return sum(
        archived.bytes for archived in archive_periods.listed(engine.database) if archived.name == period
    )


def _job(engine: Engine, by: str, has_time: Callable[[], bool]) -> _Job:
    now = _now(engine)
    settings = engine.settings.archive
    overrides = {published.id: published.template.archive for published in engine.templates.listed()}
    kept = kept_outcomes(settings.policies, overrides)
    return _Job(engine, by, now, Rule(cutoff(now, settings.retention_days), tuple(kept)), has_time)


def _now(engine: Engine) -> datetime:
    return engine.clock.fixed() or diagnosis.server_time(engine.database)


def _most(job: _Job) -> int:
    return job.engine.settings.archive.most_stragglers


def _due(job: _Job) -> list[Period]:
    restored = books.restored_at(job.engine.database)
    days = job.engine.settings.archive.retention_days
    return [
        period.period
        for period in live.periods(job.engine.database)
        if period.attached
        and due_at(period.ends_at, [restored[period.name]] if period.name in restored else [], days)
        <= job.now
    ]


def _is_begun(period: Period, archived: Sequence[Archived]) -> bool:
    return any(other.starts_at < period.ends_at and period.starts_at < other.ends_at for other in archived)


def _look(job: _Job, period: Period) -> PeriodInspection:
    database = job.engine.database
    server_now = diagnosis.server_time(database)
    return archive_candidates.look(database, period, job.rule, _most(job), server_now)


def _move_period(job: _Job, period: Period) -> None:
    """Inspect a period and move it as its rows allow; inspect it again if somebody changed it meanwhile."""
    for _ in range(_TRIES):
        looked = _look(job, period)
        is_begun = _is_begun(period, archive_periods.listed(job.engine.database))
        # Some of it was archived before it had a partition: the rest goes to the same place.
        is_spilled = not is_begun and archive_periods.is_spilled(job.engine.database, period)
        way = way_of(looked.census, _most(job), is_begun=is_begun or is_spilled)
        if way in (Way.WAIT, Way.STAY):
            return
        if way is Way.BATCH:
            if not is_begun and not is_spilled:
                archive_periods.begin_period(job.engine.database, period)
            between = archive_candidates.between(period.starts_at, period.ends_at)
            _move_batches(job, period.name, None if is_spilled else period, between)
            if not job.has_time():
                return
        else:
            outcome = _hand_over(job, period, looked, way)
            if outcome == "moved" or outcome == "gone":  # noqa: PLR1714 - mypy narrows by these
                job.deferred.pop(period.name, None)
                return
            job.deferred[period.name] = outcome
            if outcome != "changed":
                return


def _hand_over(job: _Job, period: Period, looked: PeriodInspection, way: Way) -> Outcome:
    database, hold_seconds = job.engine.database, job.engine.settings.archive.hold_seconds
    attach = way is Way.PERIOD
    tables = archive_periods.live_tables(period.name)
    drafted = books.draft("archive", "period", period, job.by, _now(job.engine))
    drafted = replace(drafted, bytes_before=archive_periods.size(database, tables))
    before = _NOTHING
    if attach:
        try:
            archive_periods.promise_bounds(database, period)
        except Busy:
            return _deferred(period, "late")
        before = archive_moves.sums(database, tables, looked.staying)
    drafted = replace(drafted, bytes=drafted.bytes_before if attach else size_of(job.engine, period.name))
    handed = archive_moves.hand_over(database, drafted, looked, before, hold_seconds, attach=attach)
    if handed.run is None:
        return _deferred(period, handed.outcome)
    if attach:
        _verify(job.engine, handed.run)
    else:
        books.note_verified(database, handed.run, _now(job.engine))
    job.count(handed.run)
    _log_moved(handed.run)
    return "moved"


def _deferred(period: Period, outcome: Outcome) -> Outcome:
    log("archive.deferred", period=period.name, reason=outcome)
    return outcome


def _verify(engine: Engine, run: Run) -> None:
    """Count and hash again what a run moved; hand the period back if the result differs."""
    arrived = archive_moves.sums(engine.database, archive_periods.live_tables(run.period))
    # Whoever moves rows of a period verifies it first: after that, a difference is expected.
    if arrived == run.sums or books.is_verified(engine.database, run):
        books.note_verified(engine.database, run, _now(engine))
        return
    difference = (
        f"period {run.period} went with {run.sums.counts} rows, sum {run.checksum};"
        f" {arrived.counts} are there, sum {arrived.checksum}"
    )
    assert run.starts_at is not None
    assert run.ends_at is not None
    period = Period(run.period, run.starts_at, run.ends_at)
    back = books.draft("restore", "period", period, "archive.mismatch", _now(engine))
    hold_seconds = engine.settings.archive.hold_seconds
    handed = archive_moves.hand_back(
        engine.database, back, arrived, most=_MOST_BACK, hold_seconds=hold_seconds
    )
    log("archive.mismatch", period=run.period, handed_back=handed.run is not None)
    if handed.run is not None:
        books.note_verified(engine.database, run, _now(engine))
        books.note_verified(engine.database, handed.run, _now(engine))
    raise archive_moves.mismatch(difference)


def _move_batches(job: _Job, partition: str, period: Period | None, between: Between) -> None:
    """Copy and delete, batch by batch, the workflows of a live partition that may be archived."""
    engine = job.engine
    drafted = books.draft("archive", "batch", period, job.by, _now(engine))
    low, high = between
    total = _NOTHING
    limit = engine.settings.archive.batch_size

    def act() -> archive_moves.Batched | None:
        return archive_moves.move_batch(
            engine.database, drafted, partition, (low, high), job.rule, limit=limit, now=engine.clock.fixed()
        )

    def candidates() -> list[UUID]:
        return archive_candidates.due_of(engine.database, partition, (low, high), job.rule, limit)

    while job.has_time():
        came = [batch for batch in act_passing_over(engine.database, SWEEP, act, candidates, _AWAY) if batch]
        if not came:
            break
        low = max(batch.last for batch in came)
        for done in came:
            job.count(done.run)
            total = _added(total, done.run.sums)
    if total.counts[0]:
        books.note_size(engine.database, drafted, size_of(engine, drafted.period))
        _log_moved(books.counted(drafted, total))


def _added(left: Sums, right: Sums) -> Sums:
    counts = tuple(a + b for a, b in zip(left.counts, right.counts, strict=True))
    return Sums(counts, left.checksum + right.checksum)


def _ranges(archived: Sequence[Archived]) -> Iterator[tuple[Period | None, Between]]:
    """Yield the time ranges for which the archive has periods, and the ranges for which it has none."""
    ends: list[datetime | None] = [None]
    for period in archived:
        yield period.period, archive_candidates.between(period.starts_at, period.ends_at)
        ends += [period.starts_at, period.ends_at]
    ends.append(None)
    for begin, end in list(pairwise(ends))[::2]:
        if begin is None or end is None or begin < end:
            yield None, archive_candidates.between(begin, end)


def _log_moved(run: Run) -> None:
    log(
        "archive.moved",
        period=run.period,
        path=run.path,
        workflows=run.workflows,
        stayed=run.stayed,
        lock_ms=None if run.lock_ms is None else round(run.lock_ms, 1),
    )
