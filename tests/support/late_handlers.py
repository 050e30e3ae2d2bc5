"""A handler that workers know only after a deploy."""

from __future__ import annotations

from remand import StepContext, handler
from tests.support.handlers import note


@handler("site.late")
def late(ctx: StepContext) -> str:
    """Go well."""
    note("start", ctx)
    note("end", ctx)
    return "deployed"
