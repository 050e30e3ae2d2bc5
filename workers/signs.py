"""Signs of life for health checks: files in /run/remand that are touched, where there is such a folder.

`heard`: a worker's main process took a message from the broker. `rung`: beat has put one there, or saw that
as many lie there as may.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from celery.signals import after_task_publish, beat_init, task_received, worker_init

SIGNS = Path("/run/remand")
_MODE = 0o644
"""Whatever the umask: a sign that others may leave is none."""


def install() -> None:
    """Leave signs from the start of a worker or of beat on; nothing where there is no such folder."""
    worker_init.connect(_in_worker)
    beat_init.connect(_in_beat)


def _in_worker(**_: Any) -> None:
    if SIGNS.is_dir():
        task_received.connect(_heard)


def _in_beat(**_: Any) -> None:
    if SIGNS.is_dir():
        after_task_publish.connect(_rung)


def rung() -> None:
    """Leave the sign of a beat that does its work."""
    if SIGNS.is_dir():
        (SIGNS / "rung").touch(_MODE)


def _heard(**_: Any) -> None:
    (SIGNS / "heard").touch(_MODE)


def _rung(**_: Any) -> None:
    rung()
