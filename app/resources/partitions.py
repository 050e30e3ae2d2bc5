"""Partitions, as every door shows them: how long live work may wait while some are made."""

from app.store.new_periods import Patience

__all__ = ["Patience"]
