"""The Celery queues that always exist. Templates name further queues for their steps."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

STEPS: Final = "steps"
"""The queue of steps that name no other."""
_QUEUE_OF: Final = MappingProxyType(
    {
        "exponential": "retry.exponential",
        "linear": "retry.linear",
        "immediate": "retry.immediate",
        "never": "retry.never",
        "fibonacci": "retry.exponential",
        "fixed": "retry.linear",
    }
)
RETRY: Final = tuple(dict.fromkeys(_QUEUE_OF.values()))
"""The queues whose workers turn failures into retries or dead letters."""
MAINTENANCE: Final = "remand.maintenance"
"""Sweeps."""
COMMANDS: Final = "remand.commands"
"""Verbs of the service as Celery tasks."""
BUILT_IN: Final = (STEPS, *RETRY, MAINTENANCE, COMMANDS)


def queue_of(policy: str) -> str:
    """Return the queue whose workers decide on failures of a policy; those that grow alike share one.

    Raises `ValueError` for a policy that is unknown.
    """
    queue = _QUEUE_OF.get(policy)
    if queue is None:
        raise ValueError(f"unknown retry policy {policy!r}")
    return queue


def advice(queue: str) -> str:
    """Say what to do about a queue that somebody else declared in RabbitMQ, otherwise than we do."""
    return (
        f"find who declares {queue} so, then delete it while it is empty (rabbitmqctl delete_queue {queue}):"
        " workers make it anew; or set broker_queue_type to what is there"
    )
