"""The database of the site and its schema, for the commands that maintain them."""

from remand_app.store import schema, suitability
from remand_app.store.database import Database

__all__ = ["Database", "schema", "suitability"]
