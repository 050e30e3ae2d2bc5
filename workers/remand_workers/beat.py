"""Beat's scheduler: rings overdue sweeps at once, and never rings more than the workers hear.

Postgres says what is overdue: a beat that runs for less than a sweep's interval must still ring that sweep.
Beat starts without Postgres and asks again until it has an answer. While no worker takes its ticks, or the
broker accepts none, it holds them. A held tick stays due, so that none is lost and none piles up.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from celery.beat import ScheduleEntry, SchedulingError
from celery.beat import Scheduler as CeleryScheduler

from remand.errors import RemandError
from remand_app.bell import connection_errors
from remand_app.store.sweep_runs import success_ages
from remand_app.telemetry import log
from remand_workers import health_files, process
from remand_workers.celery import settings

WAITING_AT_MOST = 5
"""Ticks that may lie in the broker unheard."""
LOOK_SECONDS = 1.0
"""Between two tries of a tick that is held."""
ASK_SECONDS = 10.0
"""Between two questions to a database that is away."""


class Scheduler(CeleryScheduler):
    """Celery's, in memory: nothing is kept in a file."""

    _ask_at: float | None = 0.0
    """When to ask Postgres what is overdue; None: Postgres has answered."""
    _look_at = 0.0
    _is_held = False
    _line: Any = None

    def tick(self, *arguments: Any, **named: Any) -> float:
        """Ring what is due; return the seconds until the next time."""
        if self._ask_at is not None and time.monotonic() >= self._ask_at:
            self._catch_up()
        seconds: float = super().tick(*arguments, **named)
        return seconds

    def is_due(self, entry: ScheduleEntry) -> tuple[bool, float]:
        """Return whether to ring now, and the seconds until the next check."""
        due, seconds = super().is_due(entry)
        if due and self._must_hold(entry.options["queue"]):
            return False, LOOK_SECONDS
        return due, seconds

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        """Ring; a bell that the broker does not take stays due."""
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except SchedulingError as error:
            self._hold(entry.options["queue"], type(error.__cause__ or error).__name__)
            self.schedule[entry.name].last_run_at = entry.last_run_at
            self._heap = None

    def _catch_up(self) -> None:
        """Count from when each sweep last went well; without a database all are due."""
        ages: dict[str, float] = {}
        if settings.database_url is not None:
            try:
                ages = success_ages(process.runtime().database)
            except RemandError as error:
                log("beat.unsure", error=error.message)
                self._ask_at = time.monotonic() + ASK_SECONDS
                return
        for name, entry in self.schedule.items():
            interval = entry.schedule.run_every.total_seconds()
            # Never in the future, even if the clocks differ.
            age = max(0.0, ages.get(name, interval))
            entry.last_run_at = min(entry.last_run_at, entry.default_now() - timedelta(seconds=age))
        self._heap = None
        self._ask_at = None

    def _must_hold(self, queue: str) -> bool:
        """Return whether the limit of waiting ticks is reached, or the broker cannot tell."""
        if self._is_held and time.monotonic() < self._look_at:
            return True
        try:
            waiting = self._waiting(queue)
        except connection_errors(self.app) as error:
            self._hold(queue, type(error).__name__)
            return True
        health_files.rung()
        if waiting >= WAITING_AT_MOST:
            self._hold(queue, f"{waiting} wait unheard")
            return True
        if self._is_held:
            self._is_held = False
            log("beat.goes_on", queue=queue)
        return False

    def _hold(self, queue: str, reason: str) -> None:
        self._look_at = time.monotonic() + LOOK_SECONDS
        if not self._is_held:
            self._is_held = True
            log("beat.held", queue=queue, reason=reason)

    def _waiting(self, queue: str) -> int:
        """Return how many messages lie in a queue."""
        line, self._line = self._line or self.app.connection_for_read(), None
        channel = line.default_channel
        try:
            count = int(channel.queue_declare(queue, passive=True).message_count)
        except line.channel_errors:
            # There is no such queue (Redis keeps no empty ones): nothing waits.
            count = 0
        if getattr(channel, "is_open", True):
            self._line = line
        else:
            # RabbitMQ closes a channel that asked for a queue that does not exist.
            line.close()
        return count
