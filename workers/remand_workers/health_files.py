"""Files for health checks, touched where their folder exists: see `remand_app/healthcheck.py`.

`heard`: a worker's main process took a message from the broker. `rung`: beat put a message there, or saw that
the limit of waiting messages is reached.
"""

from __future__ import annotations

from typing import Any

from celery.signals import after_task_publish, beat_init, task_received, worker_init

from remand_app.healthcheck import FOLDER, HEARD, RUNG

_MODE = 0o644
"""The mode, whatever the umask: a file that others may touch proves nothing."""


def install() -> None:
    """Touch the files from the start of a worker or of beat on; do nothing if the folder is missing."""
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
