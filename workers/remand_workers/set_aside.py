"""The task that stores a message no worker could take, and the handler for its letter if it is sent back."""

from __future__ import annotations

import time
from typing import Any

from celery.exceptions import Reject

from remand import handler
from remand.errors import PermanentError
from remand.handler import StepContext
from remand_app.domain.errors import Busy, DatabaseUnreachable
from remand_app.engine import set_aside as engine
from remand_workers import process
from remand_workers.celery import app

PAUSE_SECONDS = 1.0
"""The pause before a message goes back to its queue because Postgres is away."""


@app.task(name="remand.set_aside", ignore_result=True, acks_late=True, reject_on_worker_lost=True)
def set_aside(kept: dict[str, Any]) -> None:
    """Open a letter for a message; while Postgres is away, the message stays in the broker."""
    message = engine.Unread(**{**kept, "body": kept["body"].encode("latin-1")})
    try:
        engine.set_aside(process.engine(), message)
    except (DatabaseUnreachable, Busy) as error:
        time.sleep(PAUSE_SECONDS)
        raise Reject(error.code, requeue=True) from error


@handler(engine.HANDLER)
def read(ctx: StepContext) -> None:
    """Fail: there is nothing to run."""
    raise PermanentError(f"a message in queue {ctx.input['queue']} could not be read: {ctx.input['reason']}")
