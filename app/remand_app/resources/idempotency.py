"""Requests that take effect once, however often they are sent: who uses a key, and what was answered."""

from remand_app.store.idempotency import Answered, forget, keep, take
from remand_app.store.ids import new_id

__all__ = ["Answered", "forget", "keep", "new_id", "take"]
