"""Notify sweep: send the notices in the outbox, separately for each target, and delete old ones.

Every target has its own thread, and the sweep waits for the threads only so long: an endpoint that hangs
delays neither another target nor another sweep. A thread that is left behind settles by itself; if its
process ends first, the lease runs out and the message is sent again. Two sweeps at once share the targets.
Source: D2.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from remand.errors import RemandError
from remand_app.config.notify import NotifyTarget
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.domain.webhook_answers import Delivered
from remand_app.engine.dead_letter_notifications import told_of_growth
from remand_app.engine.engine import Engine
from remand_app.engine.enqueue_notifications import enqueue_many, wanted
from remand_app.engine.notification_delivery import Post, Sent, claim, deliver
from remand_app.engine.webhook import post
from remand_app.store import group_counts, notification_lists
from remand_app.store.notification_outbox import Claimed
from remand_app.telemetry import log

WAIT_SECONDS: Final = 2.0
"""How long a sweep waits for answers; later answers are settled all the same."""
_LEAST_GROWN: Final = 10
_MOST_GROWN: Final = 200
_FAILURES: Final = 3
_FAILING_FOR: Final = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class NotifyResult:
    """What one sweep did."""

    sent: int
    """Messages that were taken."""
    failed: int
    under_way: int
    """Messages that had no answer yet when the sweep ended."""
    deleted: int = 0

    @property
    def moved(self) -> int:
        """Messages taken, and notices deleted."""
        return self.sent + self.deleted


def notify(engine: Engine, send: Post = post, wait_seconds: float = WAIT_SECONDS) -> NotifyResult:
    """Sweep once: at most one message for each target. Transaction: a short one to claim, one to settle.

    Idempotent: what was claimed is not due. At least once: see `remand_app.engine.notification_delivery`.
    """
    targets = engine.settings.notify.targets
    if targets:
        tell_growth(engine)
        tell_failing(engine)
    threads = [
        _Sending(engine, target, claimed, send)
        for target in targets
        if (claimed := claim(engine, target)) is not None
    ]
    ends_at = time.monotonic() + wait_seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, ends_at - time.monotonic()))
    deleted = notification_lists.prune(
        engine.database, engine.instant() - timedelta(seconds=engine.settings.notify.keep_seconds)
    )
    swept = _counted(threads, deleted)
    if swept.moved:
        log("sweep.ended", sweep="notify", moved=swept.moved)
    return swept


def tell_growth(engine: Engine) -> int:
    """Enqueue a notice for every group whose open letters have reached 10, 100, 1 000 …; return how many.

    Transaction: own. Idempotent: once for each of these numbers, until the group is resolved.
    """
    if not wanted(engine.settings, NotificationKind.GROUP_GREW):
        return 0
    group_counts.fold(engine.database)
    names = [
        target.name
        for target in engine.settings.notify.targets
        if NotificationKind.GROUP_GREW in target.kinds
    ]
    with engine.database.begin() as connection:
        grown = notification_lists.grown_groups(connection, names, _LEAST_GROWN, _MOST_GROWN)
        notices = [told_of_growth(group) for group in grown]
        return enqueue_many(connection, engine.settings, notices, engine.now(connection)) if notices else 0


def tell_failing(engine: Engine) -> int:
    """Enqueue a notice for every sweep that has failed for a while, once a spell; return how many.

    Transaction: own. Idempotent: by the beginning of the spell.
    """
    if not wanted(engine.settings, NotificationKind.SWEEP_FAILING):
        return 0
    with engine.database.begin() as connection:
        now = engine.now(connection)
        failing = notification_lists.failing_sweeps(connection, _FAILURES, now - _FAILING_FOR)
        notices = [
            Notice(
                NotificationKind.SWEEP_FAILING,
                sweep.name,
                f"sweep {sweep.name} has failed {sweep.failures} times in a row: {sweep.error}",
                {"sweep": sweep.name, "failing_since": sweep.since.isoformat(), "failures": sweep.failures,
                 "error": sweep.error},
                occurrence=sweep.since.isoformat(),
            )
            for sweep in failing
        ]  # fmt: skip
        return enqueue_many(connection, engine.settings, notices, now) if notices else 0


class _Sending(threading.Thread):
    """One message on its way."""

    def __init__(self, engine: Engine, target: NotifyTarget, claimed: Claimed, send: Post) -> None:
        super().__init__(name=f"notify-{target.name}", daemon=True)
        self._deliver = partial(deliver, engine, target, claimed, send)
        self._told = {"target": target.name, "message_id": str(claimed.message.id)}
        self.sent: Sent | None = None

    def run(self) -> None:
        try:
            self.sent = self._deliver()
        except RemandError as error:
            log("notification.unsettled", **self._told, error=str(error))


def _counted(threads: Sequence[_Sending], deleted: int) -> NotifyResult:
    outcomes = [thread.sent.outcome for thread in threads if thread.sent is not None]
    sent = sum(isinstance(outcome, Delivered) for outcome in outcomes)
    return NotifyResult(sent, len(outcomes) - sent, sum(thread.is_alive() for thread in threads), deleted)
