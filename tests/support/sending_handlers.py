"""A user's module: a handler that sends a task of whatever Celery app is current."""

from __future__ import annotations

from typing import Any

from celery import shared_task

from remand import StepContext, handler
from tests.support.handlers import note


@shared_task(name="shop.mail")
def mail(address: str) -> None:
    """Write down that it ran, which it never should in a worker of ours."""
    raise AssertionError(f"mail to {address} was sent by Remand's worker")


@handler("shop.send")
def send(ctx: StepContext) -> Any:
    """Send the task, and return its id."""
    note("start", ctx)
    return mail.delay("ada@example.org").id
