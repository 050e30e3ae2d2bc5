"""Where a demo runs: its own folder, environment and child processes, all removed when it ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import NoReturn, Self

from remand_app.demo.checks import DemoFailed


@contextlib.contextmanager
def folder(prefix: str, *, keep: bool) -> Iterator[Path]:
    """Yield a new folder; it stays if wanted, or where a demo failed."""
    made = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield made
    except DemoFailed as error:
        keep = True
        error.hint = f"logs and data are kept in {made}"
        raise
    finally:
        if keep:
            sys.stderr.write(f"kept: {made}\n")
        else:
            shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def environment(variables: Mapping[str, str], *, hide: str | None = None) -> Iterator[None]:
    """Lay variables over this process's and so its children's; all is as before afterwards.

    `hide`: others that begin so are not seen.
    """
    before = dict(os.environ)
    for name in before:
        if hide is not None and name.startswith(hide):
            del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Make SIGTERM and a closed terminal end the demo as Ctrl-C does: everything is cleaned up."""

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class ExampleServer:
    """A server of the examples as a child process: it ends when our end of its input closes.

    Use it as a context; its address is known from `wait_ready` on.
    """

    def __init__(self, module: str, *arguments: str, url_variable: str) -> None:
        self._module = module
        self._url_variable = url_variable
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, "--port", "0", *arguments, "--with-parent"],
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
            raise DemoFailed([f"{self._module} of the examples did not start"])
        os.environ[self._url_variable] = json.loads(line)["url"]
