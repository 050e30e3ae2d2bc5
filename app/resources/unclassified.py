"""Failures that no rule knew, as every door shows them."""

from app.store.unclassified import Unclassified, forget, list_unclassified

__all__ = ["Unclassified", "forget", "list_unclassified"]
