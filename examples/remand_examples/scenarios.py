"""What the examples are run with, and how each run must end.

Submitted together, all of them end within about 15 seconds on two cores. `tok_declined` ends in a dead
letter; after `fix_card("tok_declined")` of `remand_examples.payments.gateway_client` its `charge` step can be
tried again and goes well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

Expectation = Literal["complete", "retried:exponential", "retried:linear", "retried:immediate", "dead_letter"]

ORDER = "payments/order"
AIRPORTS = "data_import/airports"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One workflow to submit: `retried:<policy>` completes after retries of that policy."""

    name: str
    template: str
    input: Mapping[str, Any]
    expect: Expectation


def all_scenarios() -> list[Scenario]:
    """Return every scenario; names and order ids are unique within the list."""
    return [*_payments(), *_data_imports()]


def order_input(order_id: str, card: str, *, quantity: int = 1) -> dict[str, Any]:
    """Return an input of `payments/order` whose items add up; prices are in cents."""
    items = [
        {"sku": "tea-earl-grey-250g", "quantity": quantity, "unit_price": 895},
        {"sku": "mug-blue", "quantity": 1, "unit_price": 1400},
    ]
    return {
        "order_id": order_id,
        "amount": quantity * 895 + 1400,
        "currency": "EUR",
        "customer": {"id": f"customer-{order_id}", "email": f"{order_id}@example.com", "card": card},
        "items": items,
    }


def _payments() -> list[Scenario]:
    happy = [
        Scenario(
            f"happy order {number}",
            ORDER,
            order_input(f"o-{number:02}", "tok_visa", quantity=number),
            "complete",
        )
        for number in range(1, 13)
    ]
    failing: list[tuple[str, str, Expectation]] = [
        ("gateway unavailable, 503 with Retry-After", "tok_unavailable", "retried:exponential"),
        ("rate limited, 429 with Retry-After", "tok_rate_limited", "retried:exponential"),
        ("connection reset", "tok_reset", "retried:exponential"),
        ("gateway hangs after booking", "tok_hangs", "retried:exponential"),
        ("account moved to another node, 421", "tok_misdirected", "retried:immediate"),
        ("gateway's storage full, 507", "tok_storage_full", "retried:linear"),
        ("card declined, 422", "tok_declined", "dead_letter"),
    ]
    return happy + [
        Scenario(name, ORDER, order_input(f"o-{card.removeprefix('tok_')}", card), expect)
        for name, card, expect in failing
    ]


def _data_imports() -> list[Scenario]:
    truncated = str(resources.files("remand_examples.data_import") / "data" / "airports_truncated.csv")
    return [
        Scenario("airports imported", AIRPORTS, {}, "complete"),
        Scenario("file missing", AIRPORTS, {"path": "incoming/airports-not-delivered.csv"}, "dead_letter"),
        Scenario("file truncated", AIRPORTS, {"path": truncated}, "dead_letter"),
    ]
