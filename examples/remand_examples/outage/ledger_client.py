"""HTTP calls to the ledger's service with the standard library; failures leave as what `urllib` raises.

The address comes from the environment variable LEDGER_API_URL, by default http://127.0.0.1:8809.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Mapping
from typing import Any

DEFAULT_URL = "http://127.0.0.1:8809"
TIMEOUT_SECONDS = 3.0

# The service is on this machine: a proxy named in the environment must not be asked.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def book(key: str, amount: int) -> str:
    """Book an amount (minor units) under a key and return the name of the entry."""
    answer = _call("/book", {"amount": amount}, {"Idempotency-Key": key})
    entry: str = answer["entry"]
    return entry


def switch(state: str) -> None:
    """Take the service "down" or bring it "up"."""
    _call("/switch", {"state": state})


def record() -> dict[str, Any]:
    """Return what the service saw; shape: `record.Record.to_dict`."""
    seen: dict[str, Any] = _call("/record")
    return seen


def _call(
    path: str, body: Mapping[str, object] | None = None, headers: Mapping[str, str] | None = None
) -> Any:
    url = os.environ.get("LEDGER_API_URL", DEFAULT_URL).rstrip("/") + path
    content = None if body is None else json.dumps(body).encode()
    given = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, content, given)  # noqa: S310 - the operator's own setting
    with _opener.open(request, timeout=TIMEOUT_SECONDS) as response:
        return json.load(response)
