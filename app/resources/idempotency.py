"""Requests that take effect once, however often they are sent: who uses a key, and what was answered."""

from app.store.idempotency import Answered, forget, keep, take
from app.store.ids import new_id

__all__ = ["Answered", "forget", "keep", "new_id", "take"]
