"""The steps of `payments/order`: what a shop does between the click and the confirmation.

No step handles a failed call: the exception leaves, the classifier says what it means, the template how
to retry.
Every call carries the step's idempotency key, so a retry never charges twice.
"""

from __future__ import annotations

from typing import Any

from remand import PermanentError, StepContext, handler
from remand_examples.payments import gateway_client


@handler("payments.order")
def order(ctx: StepContext) -> dict[str, Any]:
    """Check that the items add up to the amount (minor units). Raises PermanentError if they do not."""
    total = sum(item["quantity"] * item["unit_price"] for item in ctx.input["items"])
    if total != ctx.input["amount"]:
        raise PermanentError(
            f"order {ctx.input['order_id']}: items add up to {total}, amount says {ctx.input['amount']}",
            category="validation",
        )
    return {"order_id": ctx.input["order_id"], "amount": total, "currency": ctx.input["currency"]}


@handler("payments.reserve")
def reserve(ctx: StepContext) -> dict[str, Any]:
    """Reserve the ordered items."""
    return {"reservation": _call_gateway(ctx, "/reserve", items=ctx.input["items"])}


@handler("payments.fraud_check")
def fraud_check(ctx: StepContext) -> dict[str, Any]:
    """Have the order screened."""
    return {"check": _call_gateway(ctx, "/fraud-check", email=ctx.input["customer"]["email"])}


@handler("payments.charge")
def charge(ctx: StepContext) -> dict[str, Any]:
    """Charge the card with the whole amount."""
    reference = _call_gateway(
        ctx,
        "/charge",
        amount=ctx.input["amount"],
        currency=ctx.input["currency"],
        reservation=ctx.parents["reserve"]["reservation"],
        check=ctx.parents["fraud_check"]["check"],
    )
    return {"charge": reference, "amount": ctx.input["amount"], "currency": ctx.input["currency"]}


@handler("payments.notify")
def notify(ctx: StepContext) -> dict[str, Any]:
    """Tell the customer that the card was charged."""
    reference = _call_gateway(
        ctx, "/notify", email=ctx.input["customer"]["email"], charge=ctx.parents["charge"]["charge"]
    )
    return {"notice": reference}


def _call_gateway(ctx: StepContext, path: str, **body: object) -> str:
    identity = {"order_id": ctx.input["order_id"], "card": ctx.input["customer"]["card"]}
    answer = gateway_client.post(path, {**identity, **body}, idempotency_key=ctx.idempotency_key)
    reference: str = answer["reference"]
    return reference
