"""Handlers that worker processes of a test run: each does what the workflow's input says of its step.

Effects are lines of `$SITE_FOLDER/effects`, one when an attempt starts and one when it ends.
A part is `{key: value}` for all steps, laid over by `{step: {key: value}}`; keys that end in `_on` list
attempts.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from pathlib import Path
from typing import Any

from remand import PermanentError, RetryableError, StepContext, handler

FOLDER = Path(os.environ.get("SITE_FOLDER", "."))
_LOOK_SECONDS = 0.02


@handler("site.play")
def play(ctx: StepContext) -> Any:
    """Die, fail, hold, sleep, keep the interpreter to itself, then return, as told."""
    part = part_of(ctx)
    note("start", ctx)
    if ctx.attempt in part.get("die_on", ()):
        os.kill(os.getpid(), signal.SIGKILL)
    if ctx.attempt in part.get("hold_on", ()):
        hold(ctx, part)
    if ctx.attempt in part.get("slow_on", (ctx.attempt,)):
        time.sleep(part.get("seconds", 0))
        keep_interpreter(part.get("gil_seconds", 0))
    if ctx.attempt in part.get("fail_on", ()):
        raise RetryableError("as told", category=part.get("category", "transient"))
    if ctx.attempt in part.get("give_up_on", ()):
        raise PermanentError("as told")
    note("end", ctx)
    return part.get("result", ctx.attempt)


@handler("site.charge")
def charge(ctx: StepContext) -> dict[str, Any]:
    """Charge an order: a number it must be, and the bank declines while there is no file `bank-is-open`."""
    note("start", ctx)
    order, amount = ctx.input["order"], ctx.input["amount"]
    if not isinstance(amount, int):
        raise PermanentError(f"amount {amount!r} of order {order} is no number")
    if not (FOLDER / "bank-is-open").exists():
        raise PermanentError(f"the bank declined order {order}: account closed")
    note("end", ctx)
    return {"paid": amount}


@handler("site.poison")
def poison(ctx: StepContext) -> None:
    """Kill the process, every time."""
    note("start", ctx)
    os.kill(os.getpid(), signal.SIGKILL)


@handler("site.call")
def call(ctx: StepContext) -> str:
    """Call a service: it hangs while there is a file `hangs`, and is down until there is a file `up`."""
    note("start", ctx)
    while (FOLDER / "hangs").exists():
        time.sleep(_LOOK_SECONDS)
    if not (FOLDER / "up").exists():
        raise RetryableError("the service is down", category="network")
    note("end", ctx)
    return "well"


@handler("site.stubborn")
def stubborn(ctx: StepContext) -> str:
    """Swallow every interruption and go on until the process is killed; the second attempt goes well."""
    note("start", ctx)
    while ctx.attempt == 1:
        try:
            time.sleep(60)
        except BaseException:
            continue
    note("end", ctx)
    return "well"


@handler("site.async")
async def awaiting(ctx: StepContext) -> int:
    """Do it on an event loop."""
    note("start", ctx)
    await asyncio.sleep(0.01)
    note("end", ctx)
    return ctx.attempt


@handler("site.counted")
class Counted:
    """A class whose instance is called: counts the beads it was given by checkpoints."""

    def __call__(self, ctx: StepContext) -> int:
        note("start", ctx)
        done = ctx.last_checkpoint or 0
        for bead in range(done, ctx.input["beads"]):
            if bead == 2 and ctx.attempt == 1:
                raise RetryableError("the string broke")
            ctx.checkpoint(bead + 1)
        note("end", ctx)
        return int(ctx.input["beads"]) - done


@handler("site.not_json")
def not_json(ctx: StepContext) -> Any:
    """Return, or raise, what cannot be stored."""
    note("start", ctx)
    return NOT_JSON[ctx.input["what"]]()


class Unspeakable(Exception):
    """Neither its text nor a pickle of it can be had."""

    def __init__(self) -> None:
        super().__init__(lambda: None)

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    def __reduce__(self) -> Any:
        raise RuntimeError("no pickle")


def _cycle() -> Any:
    around: list[Any] = []
    around.append(around)
    return around


def _unspeakable() -> Any:
    raise Unspeakable


def _decimal() -> Any:
    from decimal import Decimal

    return Decimal("1.10")


def _datetime() -> Any:
    from datetime import UTC, datetime

    return datetime(2026, 1, 1, tzinfo=UTC)


NOT_JSON: dict[str, Any] = {
    "nan": lambda: {"rate": float("nan")},
    "infinity": lambda: [float("inf")],
    "bytes": lambda: b"\x00\xff",
    "datetime": _datetime,
    "decimal": _decimal,
    "nul": lambda: {"name": "a\x00b"},
    "surrogate": lambda: "\ud800",
    "cycle": _cycle,
    "huge": lambda: "x" * 50_000_000,
    "set": lambda: {1, 2},
    "number keys": lambda: {1: "one"},
    "unspeakable": _unspeakable,
}


def part_of(ctx: StepContext) -> dict[str, Any]:
    """Return what the input says of this step."""
    told = ctx.input if isinstance(ctx.input, dict) else {}
    own = told.get(ctx.step)
    return {**told, **(own if isinstance(own, dict) else {})}


def note(kind: str, ctx: StepContext) -> None:
    """Append an effect: one write, so that lines of several processes do not mix."""
    line = f"{kind} {ctx.workflow_id} {ctx.step} {ctx.attempt} {os.getpid()} {ctx.idempotency_key}\n"
    descriptor = os.open(FOLDER / "effects", os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def hold(ctx: StepContext, part: dict[str, Any]) -> None:
    """Wait until the test releases the step; say so every now and then if told to."""
    while not (FOLDER / f"release-{part.get('hold', 'all')}").exists():
        time.sleep(_LOOK_SECONDS)
        if part.get("heartbeat"):
            ctx.heartbeat()


def keep_interpreter(seconds: float) -> None:
    """Stay in C as code does that neither releases the interpreter's lock nor minds a signal."""
    if not seconds:
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    ctypes.PyDLL(None).usleep(int(seconds * 1_000_000))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
