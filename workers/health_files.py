"""Files for health checks, touched where there is a folder for them: see `app/healthcheck.py`.

`heard`: a worker's main process took a message from the broker. `rung`: beat has put one there, or saw that
as many lie there as may.
"""

from __future__ import annotations

from typing import Any

from celery.signals import after_task_publish, beat_init, task_received, worker_init

from app.healthcheck import FOLDER, HEARD, RUNG

_MODE = 0o644
"""Whatever the umask: a file that others may touch proves nothing."""


def install() -> None:
    """Touch the files from the start of a worker or of beat on; nothing where there is no such folder."""
    worker_init.connect(_in_worker)
    beat_init.connect(_in_beat)


def _in_worker(**_: Any) -> None:
    if FOLDER.is_dir():
        task_received.connect(_heard)


def _in_beat(**_: Any) -> None:
    if FOLDER.is_dir():
        after_task_publish.connect(_rung)


def rung() -> None:
    """Note that beat does its work."""
    if FOLDER.is_dir():
        RUNG.touch(_MODE)


def _heard(**_: Any) -> None:
    HEARD.touch(_MODE)


def _rung(**_: Any) -> None:
    rung()
