"""The handler of every step here: does its part, notes each run, and returns a hash of all before it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from remand import PermanentError, RetryableError, StepContext, handler
from tests.chaos.model import HANDLER, part_of, result_of

RUNS = Path(os.environ.get("SITE_FOLDER", ".")) / "runs"


@handler(HANDLER)
def step(ctx: StepContext) -> Any:
    """Sleep, fail for now or for good as told, then return what the model expects."""
    note("start", ctx)
    part = part_of(ctx.input, ctx.step)
    pauses = part.get("checkpoints", 1)
    for number in range(pauses):
        time.sleep(part.get("seconds", 0) / pauses)
        if "checkpoints" in part:
            ctx.checkpoint(number)
    if part.get("never") == "given up":
        raise PermanentError("on purpose")
    if "never" in part or ctx.attempt <= part.get("fails", 0):
        raise RetryableError("on purpose")
    note("end", ctx)
    return result_of(ctx.input, ctx.step, ctx.parents)


def note(kind: str, ctx: StepContext) -> None:
    """Append a line: one write, so that those of several processes do not mix, and a kill leaves it whole."""
    line = f"{kind} {ctx.workflow_id} {ctx.step} {ctx.attempt} {os.getpid()} {time.time():.3f}\n"
    descriptor = os.open(RUNS, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
