"""One task a sweep; beat rings them, see `beat_schedule.py`."""

from __future__ import annotations

from app.engine.sweeps.expire import expire as sweep_expire
from app.engine.sweeps.partitions import partitions as sweep_partitions
from app.engine.sweeps.redrive import redrive as sweep_redrive
from app.engine.sweeps.requeue import requeue as sweep_requeue
from app.engine.sweeps.rescue import rescue as sweep_rescue
from app.engine.sweeps.ring import ring as sweep_ring
from app.engine.sweeps.stalled import stalled as sweep_stalled
from workers import process
from workers.celery import app


@app.task(name="remand.sweep.ring", ignore_result=True)
def ring() -> None:
    """Wake due retries, ring where work waits unheard."""
    sweep_ring(process.engine())


@app.task(name="remand.sweep.rescue", ignore_result=True)
def rescue() -> None:
    """Take back the attempts of workers that are gone."""
    sweep_rescue(process.engine())


@app.task(name="remand.sweep.redrive", ignore_result=True)
def redrive(bell: str = "") -> None:  # noqa: ARG001 - a bell of this queue names it
    """Move bulk verbs on dead letters on; rung by beat, and at once when one is started."""
    sweep_redrive(process.engine())


@app.task(name="remand.sweep.requeue", ignore_result=True)
def requeue() -> None:
    """Send dead letters back to work that go by themselves."""
    sweep_requeue(process.engine())


@app.task(name="remand.sweep.expire", ignore_result=True)
def expire() -> None:
    """Make dead letters of workflows that are past their deadline."""
    sweep_expire(process.engine())


@app.task(name="remand.sweep.stalled", ignore_result=True)
def stalled() -> None:
    """Make dead letters of what nobody takes up and of what can never start."""
    sweep_stalled(process.engine())


@app.task(name="remand.sweep.partitions", ignore_result=True)
def partitions() -> None:
    """Create the partitions of the coming months."""
    sweep_partitions(process.engine())
