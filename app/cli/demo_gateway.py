"""The payment gateway of the examples as a child process: it ends when our end of its input closes."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from app.cli.demo_checks import DemoFailed

URL_VARIABLE = "PAYMENTS_GATEWAY_URL"


class Gateway:
    """Use it as a context; `url` is known from `wait_ready` on."""

    def __init__(self, state: Path) -> None:
        arguments = ["--port", "0", "--state", str(state), "--with-parent"]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "examples.payments.gateway", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def wait_ready(self) -> None:
        """Read its address and tell it to our children and ourselves.

        Raises:
            DemoFailed: it ended instead.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise DemoFailed(["the payment gateway of the examples did not start"])
        os.environ[URL_VARIABLE] = json.loads(line)["url"]

    def fix_card(self, card: str) -> None:
        """Do what an operator does after a call to the bank."""
        self._client().fix_card(card)

    def ledger(self) -> dict[str, Any]:
        """Return what was booked."""
        ledger: dict[str, Any] = self._client().get_ledger()
        return ledger

    def _client(self) -> Any:
        return importlib.import_module("examples.payments.gateway_client")
