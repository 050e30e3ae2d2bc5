"""The gateway's book: one line of JSON per reservation, check, charge, notice and repaired card.

A key is booked once per kind, whatever the number of calls; the book is read again at start.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path


class KeyReused(Exception):
    """Refuse a key that was already booked for another order or amount."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One booked call; `amount` is in minor units (cents), 0 where no money moves."""

    kind: str
    key: str
    order_id: str
    amount: int
    currency: str
    card: str
    reference: str


class Ledger:
    """Book calls exactly once in an append-only file; safe to share between threads of one process."""

    def __init__(self, journal: Path) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._replays = 0
        self._entries: dict[tuple[str, str], Entry] = {}
        journal.parent.mkdir(parents=True, exist_ok=True)
        if journal.exists():
            for line in journal.read_text(encoding="utf-8").splitlines():
                entry = Entry(**json.loads(line))
                self._entries[entry.kind, entry.key] = entry
        self._file = journal.open("a", encoding="utf-8")

    def close(self) -> None:
        """Close the journal file."""
        self._file.close()

    def count_call(self, path: str) -> None:
        """Count one call of `path`, whatever becomes of it."""
        with self._lock:
            self._calls[path] += 1

    def book(self, kind: str, key: str, *, order_id: str, amount: int, currency: str, card: str) -> Entry:
        """Return the entry of `key`, written now or by an earlier call.

        Raises KeyReused if the earlier call was about something else. Idempotent: one entry per kind and key.
        """
        reference = f"{kind}_{hashlib.sha256(key.encode()).hexdigest()[:12]}"
        entry = Entry(kind, key, order_id, amount, currency, card, reference)
        with self._lock:
            known = self._entries.get((kind, key))
            if known is None:
                self._append(entry)
                return entry
            self._replays += 1
        if known != entry:
            raise KeyReused(
                f"key {key} was booked for order {known.order_id}, {known.amount} {known.currency}"
            )
        return known

    def fix_card(self, card: str) -> None:
        """Remember that `card` works from now on. Idempotent."""
        self.book("fix", card, order_id="", amount=0, currency="", card=card)

    def is_fixed(self, card: str) -> bool:
        """Return whether `card` was repaired."""
        with self._lock:
            return ("fix", card) in self._entries

    def to_dict(self) -> dict[str, object]:
        """Return the book as JSON types: `entries`, `charged` per currency, `calls` per path, `replays`."""
        with self._lock:
            entries = list(self._entries.values())
            calls, replays = dict(self._calls), self._replays
        charged: Counter[str] = Counter()
        for entry in entries:
            if entry.kind == "charge":
                charged[entry.currency] += entry.amount
        return {
            "entries": [asdict(entry) for entry in entries],
            "charged": dict(charged),
            "calls": calls,
            "replays": replays,
        }

    def _append(self, entry: Entry) -> None:
        self._file.write(json.dumps(asdict(entry)) + "\n")
        self._file.flush()
        self._entries[entry.kind, entry.key] = entry
