"""Remand's SDK: what users' code imports.

    from remand import handler, StepContext, PermanentError, RetryableError, RateLimited, Client
    from remand import classify, explain, rule, UserRule, Verdict

It needs only the standard library (and Celery for `Client`), and knows nothing of the service.
"""

from remand.classify import Classification, classify
from remand.errors import PermanentError, RateLimited, RemandError, RetryableError, StepCancelled, StepTimeout
from remand.explain import Explanation, explain
from remand.handler import StepContext, handler
from remand.rules.user import UserRule, Verdict, rule

__all__ = [
    "Classification",
    "Client",
    "Explanation",
    "PermanentError",
    "RateLimited",
    "RemandError",
    "RetryableError",
    "StepCancelled",
    "StepContext",
    "StepTimeout",
    "UserRule",
    "Verdict",
    "classify",
    "explain",
    "handler",
    "rule",
]


def __getattr__(name: str) -> object:
    # Celery is imported only by those who use the client: handlers and the classifier start without it.
    if name == "Client":
        from remand.client import Client  # noqa: PLC0415 - as above

        return Client
    raise AttributeError(f"module 'remand' has no attribute {name!r}")
