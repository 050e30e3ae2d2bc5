"""Find a thing of any noun by an id or a name that somebody typed. Bounded: a few queries by index."""

from remand_app.store.lookup import group_of, ids_like, is_worker

__all__ = ["group_of", "ids_like", "is_worker"]
