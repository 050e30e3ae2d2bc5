"""Partitions, as every door shows them, and how long live work may wait while new ones are made."""

from remand_app.store.new_periods import Patience

__all__ = ["Patience"]
