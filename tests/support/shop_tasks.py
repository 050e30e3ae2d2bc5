"""Tasks of somebody else's Celery app, with a result backend of its own; it knows nothing but the client."""

from __future__ import annotations

from celery import current_app, shared_task

from remand.client import Client


@shared_task(name="shop.order")
def order(number: int) -> str:
    """Send an order on its way, from inside a task."""
    client = Client(current_app._get_current_object(), timeout=60, by="shop")
    return client.submit("site/chain", {"c": {"result": number}}).workflow_id
