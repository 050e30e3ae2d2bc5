"""The bell of retry queues: their workers turn failures into retries or dead letters."""

from __future__ import annotations

from remand_app.engine import fail
from remand_app.store.database import NOT_NOW
from remand_workers import process
from remand_workers.celery import app


@app.task(name="remand.drain_failures", ignore_result=True, throws=NOT_NOW)
def drain_failures(queue: str) -> int:
    """Decide on the failed attempts of a retry queue until it is dry; return how many."""
    if not process.is_ours(queue):
        return 0
    applied = fail.drain_failures(process.engine(), queue)
    return applied.retried + applied.dead
