"""The payment gateway of the examples as a child process."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from remand_app.demo.environment import ExampleServer


class Gateway(ExampleServer):
    """Use it as a context; its address is known from `wait_ready` on."""

    def __init__(self, state: Path) -> None:
        super().__init__(
            "remand_examples.payments.gateway", "--state", str(state), url_variable="PAYMENTS_GATEWAY_URL"
        )

    def fix_card(self, card: str) -> None:
        """Do what an operator does after a call to the bank."""
        self._client().fix_card(card)

    def ledger(self) -> dict[str, Any]:
        """Return what was booked."""
        ledger: dict[str, Any] = self._client().get_ledger()
        return ledger

    def _client(self) -> Any:
        return importlib.import_module("remand_examples.payments.gateway_client")
