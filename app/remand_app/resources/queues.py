"""Queues, as every door shows them: what is in each, whether it is paused, who listens."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from remand_app.engine import overview, pauses
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.engine.overview import QueueStanding
from remand_app.engine.queue_settings import QueueSettings, queue_settings, set_queue
from remand_app.resources.values import fields_of
from remand_app.store.dead_queues import DeadQueue
from remand_app.store.queue_counts import Waiting

__all__ = ["DeadQueue", "Queue", "QueueChanged", "QueueSettings", "QueueSettingsChanged", "Waiting"]


@dataclass(frozen=True, slots=True)
class Queue:
    """What is in a queue, whether it is paused, who listens."""

    queue: str
    ready: int
    failed: int
    waiting: int
    held: int
    claimed: int
    due: int
    oldest_seconds: float | None
    is_paused: bool
    paused_since: datetime | None
    paused_by: str | None
    paused_reason: str | None
    workers: list[str]


@dataclass(frozen=True, slots=True)
class QueueChanged(Queue):
    """A queue after a verb; `changed`: False if it stood so before."""

    changed: bool


@dataclass(frozen=True, slots=True)
class QueueSettingsChanged(QueueSettings):
    """What a queue is set to after a change; `changed`: False if it was so before."""

    changed: bool = field(kw_only=True)


def queues(engine: Engine) -> list[Queue]:
    """Return every queue: the built-in ones, those of templates, those that hold work or are paused.

    Transaction: some short ones.
    """
    return [_queue(standing) for standing in overview.queues(engine)]


def find_queue(engine: Engine, name: str) -> Queue:
    """Return one queue. Transaction: as `queues`.

    Raises:
        QueueNotFound: no such queue is known.
    """
    return _queue(overview.find_queue(engine, name))


def pause(engine: Engine, name: str, who: Who) -> QueueChanged:
    """Pause a queue. Transaction: own, then as `queues`. Idempotent.

    Raises:
        InputInvalid: the queue carries the sweeps or the verbs, and cannot be paused.
        QueueNotFound: no such queue is known.
    """
    changed = pauses.pause_queue(engine, name, by=who.by, reason=who.reason, via=who.via)
    return QueueChanged(**fields_of(find_queue(engine, name)), changed=changed)


def resume(engine: Engine, name: str, who: Who) -> QueueChanged:
    """Let a paused queue go on. Transaction: own, then as `queues`. Idempotent.

    Raises:
        QueueNotFound: no such queue is known.
    """
    changed = pauses.resume_queue(engine, name, by=who.by, reason=who.reason, via=who.via)
    return QueueChanged(**fields_of(find_queue(engine, name)), changed=changed)


def settings_of(engine: Engine, name: str) -> QueueSettings:
    """Return what a queue is set to. Transaction: some short ones.

    Raises:
        QueueNotFound: nobody ever set it, and no such queue is known.
    """
    settings = queue_settings(engine, name)
    if settings == QueueSettings(name):
        overview.find_queue(engine, name)
    return settings


def change_settings(
    engine: Engine,
    name: str,
    who: Who,
    *,
    dead_queue: str | None = None,
    expire_after_seconds: float | None = None,
) -> QueueSettingsChanged:
    """Set a queue; None leaves a thing as it was. Raises as `set_queue` does. Transaction: two short ones."""
    changed = set_queue(engine, name, who, dead_queue=dead_queue, expire_after_seconds=expire_after_seconds)
    return QueueSettingsChanged(**fields_of(queue_settings(engine, name)), changed=changed)


def _queue(standing: QueueStanding) -> Queue:
    paused = standing.paused
    return Queue(
        **fields_of(standing.work),
        is_paused=paused is not None,
        paused_since=paused.since if paused else None,
        paused_by=paused.by if paused else None,
        paused_reason=paused.reason if paused else None,
        workers=list(standing.workers),
    )
