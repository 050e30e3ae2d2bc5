"""Start Celery as `python -P -m remand_app.cli.celery_main …`: our package comes first on the path.

`celery -A remand_workers` would put the working directory first, and a file there may have the name of a
module that we need. Here the working directory comes last. Celery's warning about running as root
is silenced: messages are JSON, and nothing in them is run.
"""

from __future__ import annotations

import runpy
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path


def worker_command(
    queues: Sequence[str], *, concurrency: int | None, name: str | None, log_level: str
) -> list[str]:
    """Return the command line of a worker."""
    words = ["worker", "--queues", ",".join(queues), "--loglevel", log_level]
    # Neither is needed: the registry of workers is in Postgres, and mingling costs a second at every start.
    words += ["--without-gossip", "--without-mingle"]
    if concurrency is not None:
        words += ["--concurrency", str(concurrency)]
    if name is not None:
        words += ["--hostname", name if "@" in name else f"{name}@%h"]
    return _command(words)


def beat_command(*, log_level: str) -> list[str]:
    """Return the command line of a beat."""
    return _command(["beat", "--loglevel", log_level])


def _command(words: Sequence[str]) -> list[str]:
    return [
        sys.executable,
        "-P",
        "-m",
        "remand_app.cli.celery_main",
        "--quiet",
        "--app",
        "remand_workers",
        *words,
    ]


def main() -> None:
    """Become Celery, with the arguments of this process."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    warnings.filterwarnings("ignore", message="You're running the worker with superuser privileges")
    runpy.run_module("celery", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
