"""HTTP calls to the gateway with the standard library; failures leave as the exceptions `urllib` raises.

The address comes from the environment variable PAYMENTS_GATEWAY_URL, by default http://127.0.0.1:8808.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError

DEFAULT_URL = "http://127.0.0.1:8808"
TIMEOUT_SECONDS = 1.5

# The gateway is on this machine: a proxy named in the environment must not be asked.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def post(path: str, body: Mapping[str, object], *, idempotency_key: str) -> dict[str, Any]:
    """Send `body` as JSON and return the answer.

    Raises HTTPError for any status from 400 up, URLError if nobody listens, ConnectionResetError or
    TimeoutError if the connection breaks or stays silent for TIMEOUT_SECONDS.
    """
    headers = {"Content-Type": "application/json", "Idempotency-Key": idempotency_key}
    return _call(_request(path, json.dumps(body).encode(), headers))


def fix_card(card: str) -> None:
    """Tell the gateway that `card` works from now on, as an operator would after a call to the bank."""
    post("/fix", {"card": card}, idempotency_key=f"fix-{card}")


def get_ledger() -> dict[str, Any]:
    """Return what the gateway has booked; shape: `Ledger.to_dict`."""
    return _call(_request("/ledger"))


def _request(
    path: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
) -> urllib.request.Request:
    url = os.environ.get("PAYMENTS_GATEWAY_URL", DEFAULT_URL).rstrip("/") + path
    return urllib.request.Request(url, content, dict(headers or {}))  # noqa: S310 - the operator's own setting


def _call(request: urllib.request.Request) -> dict[str, Any]:
    try:
        with _opener.open(request, timeout=TIMEOUT_SECONDS) as response:
            answer: dict[str, Any] = json.load(response)
    except HTTPError as error:
        # The body says why; as a note it reaches the traceback, and so the dead letter.
        with error:
            error.add_note(f"gateway answered: {error.read().decode(errors='replace')}")
        raise
    return answer
