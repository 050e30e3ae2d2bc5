"""One task for each sweep of the table in `beat_schedule.py`. Every run is recorded with its outcome."""

from __future__ import annotations

from typing import Any

from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.engine.sweeps.runs import function_of
from remand_workers import process
from remand_workers.celery import app


def sweep_task(name: str) -> Any:
    """Make the task of a sweep. A bell of its queue may name itself."""
    # Before the fork: processes share what is loaded, and a missing module is found at the start.
    function_of(name)

    # A sweep that fails is a failed task, logged once, in our own words: not again by Celery.
    @app.task(name=BEAT_SCHEDULE[name].task, ignore_result=True, throws=(Exception,))
    def sweep(bell: str = "") -> None:  # noqa: ARG001 - see above
        process.sweeps().run(name, function_of(name))

    return sweep


TASKS = {name: sweep_task(name) for name in BEAT_SCHEDULE}
