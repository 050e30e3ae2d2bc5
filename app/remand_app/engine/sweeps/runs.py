"""Run a sweep and record how it went, so that a failure shows in its row, its log line and Celery.

A process records a run at once if it moved something, failed, or succeeded after a failure. It adds up all
other runs and records them every few seconds. While the database is away, it goes on adding up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from typing import Protocol
from uuid import UUID

from remand.errors import RemandError
from remand.redact import redact_text
from remand_app.beat_schedule import SWEEPS
from remand_app.engine.engine import Engine
from remand_app.store import sweep_runs
from remand_app.store.sweep_runs import Noted
from remand_app.telemetry import log
from remand_app.telemetry.metrics import SWEEP_SECONDS
from remand_app.telemetry.metrics_buffer import observe

NOTE_SECONDS = 5.0
"""Seconds between two records of a process about a sweep that moves nothing."""
LOG_SECONDS = 10.0
"""Seconds until a sweep that goes on failing is logged again; doubled each time."""
LOG_SECONDS_CAP = 600.0
MESSAGE_LENGTH = 500


class Moved(Protocol):
    """What a sweep returns: how much it moved."""

    @property
    def moved(self) -> int:
        """Rows it moved on, created or removed."""


Sweep = Callable[[Engine], Moved | Sized | int]
"""Returns how much it moved, or a list of what."""


def function_of(name: str) -> Sweep:
    """Return what runs for a sweep of the table in `beat_schedule.py`."""
    module, _, function = SWEEPS[name].function.partition(":")
    sweep: Sweep = getattr(import_module(f"remand_app.engine.sweeps.{module}"), function)
    return sweep


@dataclass(slots=True)
class _Tally:
    """What a process has seen of one sweep and not recorded yet. Instants are of this process's clock."""

    noted_at: float | None = None
    runs: int = 0
    failures: int = 0
    failures_in_a_row: int = 0
    moved: int = 0
    last_moved: int = 0
    started_at: float = 0.0
    duration_seconds: float = 0.0
    success_at: float | None = None
    failing_at: float | None = None
    failed_at: float | None = None
    error: str | None = None
    error_message: str | None = None

    def went_well(self, at: float, moved: int) -> None:
        self.runs += 1
        self.success_at = at
        self.failures_in_a_row, self.failing_at = 0, None
        self.moved += moved
        self.last_moved = moved or self.last_moved

    def failed(self, at: float, error: str, message: str) -> None:
        self.runs += 1
        self.failures += 1
        self.failures_in_a_row += 1
        self.failed_at = at
        self.failing_at = at if self.failing_at is None else self.failing_at
        self.error, self.error_message = error, message

    def noted(self, name: str, worker: UUID, at: float) -> Noted:
        return Noted(
            name=name,
            worker=worker,
            runs=self.runs,
            failures=self.failures,
            failures_in_a_row=self.failures_in_a_row,
            moved=self.moved,
            last_moved=self.last_moved,
            duration_seconds=self.duration_seconds,
            started_ago=at - self.started_at,
            success_ago=_ago(at, self.success_at),
            failing_ago=_ago(at, self.failing_at),
            failed_ago=_ago(at, self.failed_at),
            error=self.error,
            error_message=self.error_message,
        )


@dataclass(slots=True)
class _Spell:
    """A stretch of time in which a sweep fails, in this process."""

    since: float
    failures: int = 0
    log_at: float = 0.0
    delay: float = LOG_SECONDS


class SweepRuns:
    """The runs of one process of a worker."""

    def __init__(
        self, engine: Engine, worker: UUID, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine = engine
        self._worker = worker
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._tallies: dict[str, _Tally] = {}
        self._spells: dict[str, _Spell] = {}

    def run(self, name: str, sweep: Sweep) -> int:
        """Run a sweep once and return what it moved. What it raises comes through, once it is noted."""
        started_at = self._monotonic()
        try:
            swept = sweep(self._engine)
        except Exception as error:  # the boundary of the sweeps: every error is reported
            self._ended(name, started_at, error)
            raise
        moved = _count(swept)
        self._ended(name, started_at, moved)
        self._note_figures(name, _figures(swept))
        return moved

    def _ended(self, name: str, started_at: float, outcome: int | Exception) -> None:
        at = self._monotonic()
        observe(SWEEP_SECONDS, at - started_at, name)
        with self._lock:
            tally = self._tallies.setdefault(name, _Tally())
            tally.started_at, tally.duration_seconds = started_at, at - started_at
            if isinstance(outcome, int):
                tally.went_well(at, outcome)
                matters = self._recovered(name, at) or outcome > 0
            else:
                message = _message(outcome, self._engine.settings.redact_keys)
                tally.failed(at, type(outcome).__name__, message)
                matters = self._log_failure(name, at, outcome, message)
            if matters or tally.noted_at is None or at - tally.noted_at >= NOTE_SECONDS:
                self._note(name, at, tally)

    def _recovered(self, name: str, at: float) -> bool:
        """Log that a sweep goes well again; False: it did so before."""
        spell = self._spells.pop(name, None)
        if spell is None:
            return False
        log(
            "sweep.recovered", sweep=name, failures=spell.failures, failing_seconds=round(at - spell.since, 3)
        )
        return True

    def _log_failure(self, name: str, at: float, error: Exception, message: str) -> bool:
        """Log it, unless that was done a short while ago; return whether it is the first after a good run."""
        spell = self._spells.setdefault(name, _Spell(since=at))
        spell.failures += 1
        if at >= spell.log_at:
            if spell.failures > 1:
                spell.delay = min(2 * spell.delay, LOG_SECONDS_CAP)
            spell.log_at = at + spell.delay
            log(
                "sweep.failed",
                sweep=name,
                error=type(error).__name__,
                reason=message,
                failures=spell.failures,
                failing_seconds=round(at - spell.since, 3),
                # Our errors say what is wrong; for others, a reader wants to see where they came from.
                exc_info=None if isinstance(error, RemandError) else error,
            )
        return spell.failures == 1

    def _note(self, name: str, at: float, tally: _Tally) -> None:
        """Record what was added up; while the database is away, keep it for the next time."""
        tally.noted_at = at
        try:
            sweep_runs.note(self._engine.database, self._engine.clock, tally.noted(name, self._worker, at))
        except RemandError as error:
            if tally.failures_in_a_row == 0:
                log("sweep.unnoted", sweep=name, error=type(error).__name__)
        else:
            self._tallies[name] = _Tally(noted_at=at)

    def _note_figures(self, name: str, figures: dict[str, int]) -> None:
        """Add to the sweep's totals. If the database is away, these figures are lost: they are for graphs."""
        if not figures:
            return
        try:
            sweep_runs.add_figures(self._engine.database, name, figures)
        except RemandError as error:
            log("sweep.unnoted", sweep=name, error=type(error).__name__)


def _figures(swept: object) -> dict[str, int]:
    """Return the numbers that a sweep returns, those that are not 0."""
    if not is_dataclass(swept):
        return {}
    values = {field.name: getattr(swept, field.name) for field in fields(swept)}
    return {name: value for name, value in values.items() if type(value) is int and value}


def _count(swept: Moved | Sized | int) -> int:
    if isinstance(swept, int):
        return swept
    return len(swept) if isinstance(swept, Sized) else swept.moved


def _ago(at: float, then: float | None) -> float | None:
    return None if then is None else at - then


def _message(error: Exception, keys: Iterable[str]) -> str:
    message = error.message if isinstance(error, RemandError) else str(error)
    storable = message.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return " ".join(redact_text(storable, keys).split())[:MESSAGE_LENGTH]
