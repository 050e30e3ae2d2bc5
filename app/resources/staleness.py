"""Workflows without a sign of life, as every door shows them."""

from app.engine.staleness import NOT_HEALTHY, shown, would_take
from app.store.staleness import WorkflowStaleness

__all__ = ["NOT_HEALTHY", "WorkflowStaleness", "shown", "would_take"]
