"""A step that takes as long as its input says, for killing and stopping workers while it runs."""

from __future__ import annotations

import time
from typing import Any

from remand import StepContext, handler


@handler("flows.slow")
def slow(ctx: StepContext) -> dict[str, Any]:
    """Sleep for `seconds`, then say which attempt it was."""
    time.sleep(ctx.input["seconds"])
    return {"attempt": ctx.attempt}
