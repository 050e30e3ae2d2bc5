"""What Celery beat rings, and when: name → task, seconds between two, queue, seconds after which it is stale.

Data only. Two beats at once are harmless, and so is a sweep that runs twice.
"""

from __future__ import annotations

from typing import NamedTuple

MAINTENANCE = "remand.maintenance"


class Entry(NamedTuple):
    """One sweep; `interval` names the setting that holds the seconds between two of it."""

    task: str
    interval: str
    queue: str = MAINTENANCE


BEAT_SCHEDULE: dict[str, Entry] = {
    "ring": Entry("remand.sweep.ring", "ring_interval_seconds"),
    "rescue": Entry("remand.sweep.rescue", "rescue_interval_seconds"),
    "redrive": Entry("remand.sweep.redrive", "redrive_interval_seconds"),
    "requeue": Entry("remand.sweep.requeue", "requeue_interval_seconds"),
    "expire": Entry("remand.sweep.expire", "expire_interval_seconds"),
    "stalled": Entry("remand.sweep.stalled", "stalled_interval_seconds"),
    "stale": Entry("remand.sweep.stale", "stale_interval_seconds"),
    "partitions": Entry("remand.sweep.partitions", "partitions_interval_seconds"),
    "notify": Entry("remand.sweep.notify", "notify_interval_seconds"),
    "archive": Entry("remand.sweep.archive", "archive_interval_seconds"),
    "prune": Entry("remand.sweep.prune", "prune_interval_seconds"),
}
