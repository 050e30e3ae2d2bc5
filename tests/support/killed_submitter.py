"""Submit a workflow and be killed between the commit and the bell: `python -m … REF`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable

from remand_app.config import load_settings
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.runtime import Runtime


class DeadlyBell:
    """Kills whoever rings it."""

    def ring(self, queues: Iterable[str]) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def pending(self, queue: str) -> int:
        return 0


if __name__ == "__main__":
    submit(Runtime(load_settings(), bell=DeadlyBell()).engine, sys.argv[1], SubmitRequest({}), by="killed")
