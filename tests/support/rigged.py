"""Workers whose product is rigged for one fault: `celery -A tests.support.rigged`, `$SITE_RIG` says which."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import remand_app.bell
from remand_app.engine.breakers import Breakers, Noted
from remand_app.store import sweeping
from remand_workers import celery

__all__ = ["celery"]


def _double_bells() -> None:
    send = remand_app.bell.CeleryBell._send

    def twice(self: Any, queue: str) -> None:
        send(self, queue)
        send(self, queue)

    remand_app.bell.CeleryBell._send = twice  # type: ignore[method-assign]


def _lose_bells() -> None:
    remand_app.bell.CeleryBell._send = lambda self, queue: None  # type: ignore[method-assign]


def _hang_in_rescue() -> None:
    find = sweeping.find_orphans

    def found_and_stuck(*arguments: Any) -> Any:
        orphans = find(*arguments)
        if orphans:
            Path(os.environ["SITE_FOLDER"], "sweeping").touch()
            time.sleep(600)
        return orphans

    sweeping.find_orphans = found_and_stuck


def _die_before_judging() -> None:
    judge = Breakers.judge

    def once_dead(self: Breakers, noted: Noted) -> None:
        died = Path(os.environ["SITE_FOLDER"], "died")
        if noted.failures and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        judge(self, noted)

    Breakers.judge = once_dead  # type: ignore[method-assign]


{
    "double_bells": _double_bells,
    "lose_bells": _lose_bells,
    "hang_in_rescue": _hang_in_rescue,
    "die_before_judging": _die_before_judging,
}[os.environ["SITE_RIG"]]()
