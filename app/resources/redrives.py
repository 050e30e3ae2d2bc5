"""Redrives, as every door shows them: many dead letters at once, and the result of each."""

from app.store.redrive_items import Item, NewError
from app.store.redrives import Redrive

__all__ = ["Item", "NewError", "Redrive"]
