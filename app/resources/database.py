"""The database of the site and its schema, for the commands that maintain them."""

from app.store import schema, suitability
from app.store.database import Database

__all__ = ["Database", "schema", "suitability"]
