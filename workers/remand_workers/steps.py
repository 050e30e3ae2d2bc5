"""The bell of step queues."""

from __future__ import annotations

from remand_app.store.database import NOT_NOW
from remand_workers import process
from remand_workers.celery import app


@app.task(name="remand.drain", ignore_result=True, throws=NOT_NOW)
def drain(queue: str) -> int:
    """Run the steps of a queue until it is dry; return how many ended well."""
    return process.drain().run(queue).completed if process.is_ours(queue) else 0
