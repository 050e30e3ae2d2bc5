"""Remand's SDK: what users' code imports.

    from remand import handler, StepContext, PermanentError, RetryableError, RateLimited, Client

Needs nothing but the standard library (and Celery for `Client`); knows nothing of the service.
"""

from remand.errors import PermanentError, RateLimited, RemandError, RetryableError, StepCancelled, StepTimeout
from remand.handler import StepContext, handler

__all__ = [
    "Client",
    "PermanentError",
    "RateLimited",
    "RemandError",
    "RetryableError",
    "StepCancelled",
    "StepContext",
    "StepTimeout",
    "handler",
]


def __getattr__(name: str) -> object:
    # Celery is imported only by those who use the client: handlers and the classifier start without it.
    if name == "Client":
        from remand.client import Client  # noqa: PLC0415 - as above

        return Client
    raise AttributeError(f"module 'remand' has no attribute {name!r}")
