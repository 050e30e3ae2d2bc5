"""Handlers of the benchmarks: steps that do nothing, and one that can be caught in the middle."""

from __future__ import annotations

import time
from pathlib import Path

from remand import StepContext, handler


@handler("bench.noop")
def noop(ctx: StepContext) -> dict[str, int]:
    """Return something small, as a real step would."""
    return {"n": ctx.input["n"]}


@handler("bench.hang_first")
def hang_first(ctx: StepContext) -> int:
    """Say in a file that it runs; the first attempt then hangs until its process is killed."""
    Path(ctx.input["folder"], f"started-{ctx.workflow_id}-{ctx.attempt}").touch()
    if ctx.attempt == 1:
        time.sleep(600)
    return ctx.attempt
