"""A node name for a worker that was given none: unique on this host, and the same again after a restart.

Celery calls every worker `celery@host`. On RabbitMQ the second worker of a name dies of RESOURCE_LOCKED at
every start; on Redis both answer for one in Flower. A worker takes the first free place of its kind on this
host, by a lock that ends with the worker. Each place has a random number, as another machine (a container)
may have the same host name.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import tempfile
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import click
from celery.signals import celeryd_init

_SEVERAL = "worker"
"""The label of a worker that listens to several queues."""


def install() -> None:
    """Name the worker that starts in this process, unless it is given a name."""
    celeryd_init.connect(_name)


def _name(instance: Any, options: dict[str, Any], **_: Any) -> None:
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source("hostname")
    if source is click.core.ParameterSource.DEFAULT:
        queues = options.get("queues") or ()
        host = instance.hostname.partition("@")[2]
        instance.hostname = f"{take_place(queues.split(',') if isinstance(queues, str) else queues)}@{host}"


def take_place(queues: Iterable[str], folder: Path | None = None) -> str:
    """Return a name that no other live process on this machine has, and keep it while this one lives.

    `folder`: where the places are; without one that can be written to, the name is new each time.
    """
    wanted = list(queues)
    label = wanted[0] if len(wanted) == 1 else _SEVERAL
    folder = folder or Path(tempfile.gettempdir()) / f"remand-nodes-{os.getuid()}"
    try:
        _make_ours(folder)
        return f"{label}-{_number_of_a_free_place(folder, label)}"
    except OSError:
        return f"{label}-{_by_chance()}"


def _make_ours(folder: Path) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or folder.is_symlink():
        raise PermissionError(f"{folder} belongs to somebody else")


def _number_of_a_free_place(folder: Path, label: str) -> str:
    for place in count(1):
        file = os.open(folder / f"{label}.{place}", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            continue
        # The file stays open, and so locked, until the last process of this worker has ended.
        number = os.read(file, 100).decode(errors="replace")
        if not number:
            number = _by_chance()
            os.write(file, number.encode())
        return number
    raise AssertionError("there is always a further place")


def _by_chance() -> str:
    return secrets.token_hex(3)
