"""One task a sweep; beat rings them, see `beat_schedule.py`. Each runs through what notes how it went."""

from __future__ import annotations

from typing import Any

from app.engine.sweeps.archive import archive as sweep_archive
from app.engine.sweeps.expire import expire as sweep_expire
from app.engine.sweeps.never_ready import stalled as sweep_stalled
from app.engine.sweeps.notify import notify as sweep_notify
from app.engine.sweeps.partitions import partitions as sweep_partitions
from app.engine.sweeps.prune import prune as sweep_prune
from app.engine.sweeps.redrive import redrive as sweep_redrive
from app.engine.sweeps.requeue import requeue as sweep_requeue
from app.engine.sweeps.rescue import rescue as sweep_rescue
from app.engine.sweeps.ring import ring as sweep_ring
from app.engine.sweeps.runs import Sweep
from app.engine.sweeps.stale import stale as sweep_stale
from workers import process
from workers.celery import app


def swept(name: str, sweep: Sweep) -> None:
    """Run a sweep; a new one comes through here, too."""
    process.sweeps().run(name, sweep)


def _task(name: str) -> Any:
    # A sweep that fails is a failed task, and said once, in our own words: not again by Celery.
    return app.task(name=f"remand.sweep.{name}", ignore_result=True, throws=(Exception,))


@_task("ring")
def ring() -> None:
    """Wake due retries, ring where work waits unheard."""
    swept("ring", sweep_ring)


@_task("rescue")
def rescue() -> None:
    """Take back the attempts of workers that are gone."""
    swept("rescue", sweep_rescue)


@_task("redrive")
def redrive(bell: str = "") -> None:  # noqa: ARG001 - a bell of this queue names it
    """Move bulk verbs on dead letters on; rung by beat, and at once when one is started."""
    swept("redrive", sweep_redrive)


@_task("requeue")
def requeue() -> None:
    """Send dead letters back to work that go by themselves."""
    swept("requeue", sweep_requeue)


@_task("expire")
def expire() -> None:
    """Make dead letters of workflows that are past their deadline."""
    swept("expire", sweep_expire)


@_task("stalled")
def stalled() -> None:
    """Make dead letters of what can never start."""
    swept("stalled", sweep_stalled)


@_task("stale")
def stale() -> None:
    """Take out of work what shows no sign of life."""
    swept("stale", sweep_stale)


@_task("partitions")
def partitions() -> None:
    """Create the partitions of the coming months."""
    swept("partitions", sweep_partitions)


@_task("notify")
def notify() -> None:
    """Send what people outside are to be told."""
    swept("notify", sweep_notify)


@_task("archive")
def archive() -> None:
    """Move finished workflows past their retention into the archive."""
    swept("archive", sweep_archive)


@_task("prune")
def prune() -> None:
    """Delete what is over and past its days."""
    swept("prune", sweep_prune)
