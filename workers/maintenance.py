"""One task a sweep of the table in `beat_schedule.py`. Each runs through what notes how it went."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from beat_schedule import BEAT_SCHEDULE, SWEEPS
from workers import process
from workers.celery import app


def sweep_task(name: str, module: str, function: str) -> Any:
    """Make a sweep's task. Its function is looked up when it runs; a bell may name itself."""

    # A sweep that fails is a failed task, and said once, in our own words: not again by Celery.
    @app.task(name=BEAT_SCHEDULE[name].task, ignore_result=True, throws=(Exception,))
    def sweep(bell: str = "") -> None:  # noqa: ARG001 - a bell of this queue names it
        process.sweeps().run(name, getattr(module_, function))

    module_ = import_module(f"app.engine.sweeps.{module}")
    return sweep


TASKS = {name: sweep_task(name, *sweep.function.split(":")) for name, sweep in SWEEPS.items()}
