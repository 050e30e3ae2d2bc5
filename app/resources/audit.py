"""The audit log, as every door shows it: who decided what, when and why."""

from app.store.audit import Filter, Written, list_page

__all__ = ["Filter", "Written", "list_page"]
