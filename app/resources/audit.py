"""The audit log, as every door shows it: who decided what, when and why."""

from app.domain.audit_filter import AuditFilter
from app.store.audit import Written, list_page

__all__ = ["AuditFilter", "Written", "list_page"]
