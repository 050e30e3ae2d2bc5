"""The steps of `outage/booking`. The one that calls the service does nothing about its being down."""

from __future__ import annotations

from typing import Any

from remand import StepContext, handler
from remand_examples.outage import ledger_client


@handler("outage.book")
def book(ctx: StepContext) -> dict[str, Any]:
    """Book the amount; the key makes a repeated call the same booking."""
    entry = ledger_client.book(ctx.idempotency_key, ctx.input["amount"])
    return {"entry": entry}


@handler("outage.confirm")
def confirm(ctx: StepContext) -> dict[str, Any]:
    """Say what was booked."""
    return {"number": ctx.input["number"], "entry": ctx.parents["book"]["entry"]}
