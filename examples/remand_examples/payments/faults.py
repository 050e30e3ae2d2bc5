"""What the gateway does wrong, chosen by the card of the request.

A fault is counted per endpoint and idempotency key, so the same calls always meet the same failures: no dice.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail: on `path`, for the first `times` calls of a key (None: until the card is fixed).

    `booked_first` faults lose the answer, not the work: the call is booked before it fails.
    """

    path: str
    times: int | None
    kind: Literal["status", "reset", "hang"] = "status"
    status: int = 0
    reason: str = ""
    code: str = ""
    retry_after_seconds: int | None = None
    booked_first: bool = False


FAULTS: Mapping[str, Fault] = MappingProxyType(
    {
        "tok_unavailable": Fault(
            "/charge", 2, status=503, reason="Service Unavailable", code="maintenance", retry_after_seconds=1
        ),
        "tok_rate_limited": Fault(
            "/fraud-check",
            1,
            status=429,
            reason="Too Many Requests",
            code="rate_limit",
            retry_after_seconds=1,
        ),
        "tok_reset": Fault("/charge", 1, kind="reset"),
        "tok_hangs": Fault("/charge", 1, kind="hang", booked_first=True),
        "tok_misdirected": Fault(
            "/charge", 1, status=421, reason="Misdirected Request", code="account_moved_to_another_node"
        ),
        "tok_storage_full": Fault(
            "/reserve", 2, status=507, reason="Insufficient Storage", code="reservation_journal_full"
        ),
        "tok_declined": Fault(
            "/charge", None, status=422, reason="Card Declined: card is not activated", code="card_declined"
        ),
    }
)


class FaultCounter:
    """Decide for each call whether it fails; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: Counter[tuple[str, str]] = Counter()

    def next_fault(self, path: str, key: str, card: str) -> Fault | None:
        """Count this call of `key` on `path` and return the fault it meets, or None if it goes well."""
        fault = FAULTS.get(card)
        if fault is None or fault.path != path:
            return None
        with self._lock:
            self._seen[path, key] += 1
            seen = self._seen[path, key]
        return fault if fault.times is None or seen <= fault.times else None
