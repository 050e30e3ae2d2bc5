"""The table of sweeps: what beat rings, how often, and which function then runs.

Data only: the tasks of `remand_workers.maintenance`, beat's own schedule and the settings
`..._interval_seconds` are made from it. Two beats at once are harmless, and so is a sweep that runs twice.
"""

from __future__ import annotations

from typing import NamedTuple

from remand_app.domain.queues import MAINTENANCE

MINUTE, HOUR, DAY, WEEK = 60, 3600, 86_400, 604_800


class Sweep(NamedTuple):
    """One sweep. Times are seconds."""

    function: str
    """`module:function` below `remand_app.engine.sweeps`."""
    seconds: float
    """Between two runs, unless the setting says otherwise."""
    most: int
    """What the setting may be at most."""
    description: str
    """Of the setting: what runs at that interval."""


class Entry(NamedTuple):
    """What beat rings; `interval` names the setting that holds the seconds between two runs."""

    task: str
    interval: str
    queue: str = MAINTENANCE


SWEEPS: dict[str, Sweep] = {
    "ring": Sweep("ring:ring", 1, MINUTE, "ring sweeps, which wake due retries and lost bells"),
    "rescue": Sweep("rescue:rescue", 1, MINUTE, "rescue sweeps, which take back the steps of gone workers"),
    "redrive": Sweep(
        "redrive:redrive", 1, MINUTE, "redrive sweeps, which move bulk verbs on dead letters on"
    ),
    "requeue": Sweep(
        "requeue:requeue", 30, HOUR, "requeue sweeps, which send dead letters back that go by themselves"
    ),
    "expire": Sweep(
        "expire:expire", 30, HOUR, "expire sweeps, which make dead letters of what is past its time"
    ),
    "stalled": Sweep("never_ready:stalled", 300, DAY, "sweeps for what can never start"),
    "stale": Sweep(
        "stale:stale", 300, DAY, "stale sweeps, which take out of work what shows no sign of life"
    ),
    "partitions": Sweep(
        "partitions:partitions", HOUR, WEEK, "looks whether the coming periods have partitions"
    ),
    "notify": Sweep("notify:notify", 5, HOUR, "notify sweeps, which send what people outside are to be told"),
    "archive": Sweep(
        "archive:archive", HOUR, WEEK, "archive sweeps, which move finished workflows past their retention"
    ),
    "prune": Sweep(
        "prune:prune", HOUR, WEEK, "prune sweeps, which delete what is past its days in `[retention]`"
    ),
}

BEAT_SCHEDULE: dict[str, Entry] = {
    name: Entry(f"remand.sweep.{name}", f"{name}_interval_seconds") for name in SWEEPS
}
