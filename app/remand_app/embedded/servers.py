"""Start one server, wait until it answers, stop it.

This module knows neither Postgres nor the broker, nor who may own a data directory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from remand_app.domain.errors import EmbeddedUnavailable
from remand_app.embedded import launch
from remand_app.embedded.identity import Identity
from remand_app.embedded.watchdog import Phase, Ward, Watchdog

START_TIMEOUT_SECONDS = 60.0
"""Ample for crash recovery; a healthy start takes a fraction of a second."""
_POLL_SECONDS = 0.01
_TOLD_CHARACTERS = 2000
_ADDRESS_IN_USE = "address already in use"


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How to run, recognise and end one server."""

    name: str
    argv: tuple[str, ...]
    is_ready: Callable[[int], bool]
    """Given the server's pid."""
    phase: Phase
    ask_signal: signal.Signals
    end_signal: signal.Signals
    grace_seconds: float
    stdin: bytes = b""
    """What the server reads first from standard input: the place for secrets, which argv would show."""


@dataclass(frozen=True, slots=True)
class Host:
    """What all servers of one data directory share."""

    home: Path
    identity: Identity
    watchdog: Watchdog
    alive_lock: int
    """A locked descriptor that every server inherits: the lock is free when none of them lives any more."""

    def environment(self, **more: str) -> dict[str, str]:
        """Return a small environment: messages in English, times in UTC, nothing of the caller's."""
        return {"PATH": os.defpath, "HOME": str(self.home), "LC_ALL": "C", "TZ": "UTC", **more}

    def run(self, *argv: str) -> str:
        """Run a program to its end as the servers' account and return what it printed.

        Raises: EmbeddedUnavailable when it fails.
        """
        return run(self.wrap(argv, signal.SIGKILL), self.environment(), shown=argv[0])

    def wrap(self, argv: tuple[str, ...], death_signal: signal.Signals) -> list[str]:
        """Wrap `argv` so that it runs as the servers' account and does not outlive us."""
        who = self.identity
        return launch.command(
            argv,
            death_signal=death_signal,
            uid=who.uid,
            gid=who.gid,
            overrides_access=who.overrides_access,
        )


class Server:
    """One running server."""

    def __init__(
        self, spec: ServerSpec, process: subprocess.Popen[bytes], watchdog: Watchdog, log: Path
    ) -> None:
        self._spec = spec
        self._process = process
        self._watchdog = watchdog
        self._log = log
        self._log_start = log.stat().st_size

    @classmethod
    def start(cls, spec: ServerSpec, host: Host) -> Server:
        """Start the process, in a session of its own so that Ctrl-C does not reach it."""
        log = host.home / f"{spec.name}.log"
        with open_log(log) as output:
            process = subprocess.Popen(
                host.wrap(spec.argv, spec.ask_signal),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                cwd="/",
                umask=0o077,
                start_new_session=True,
                pass_fds=(host.alive_lock,),
                env=host.environment(),
            )
        server = cls(spec, process, host.watchdog, log)
        host.watchdog.watch(
            Ward(process.pid, spec.phase, spec.ask_signal, spec.end_signal, spec.grace_seconds)
        )
        server._feed()
        return server

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def wait_ready(self) -> bool:
        """Wait until the server is ready; return False when it ended because its port was taken.

        Raises: EmbeddedUnavailable when it ends for another reason, or is not ready within the start timeout.
        """
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                return self._explain_end()
            if self._spec.is_ready(self.pid):
                return True
            time.sleep(_POLL_SECONDS)
        raise self._failure(f"was not ready within {START_TIMEOUT_SECONDS:.0f} s")

    def stop(self) -> None:
        """Ask, wait, insist, reap. Idempotent."""
        for number in (self._spec.ask_signal, self._spec.end_signal, signal.SIGKILL):
            self._process.send_signal(number)
            try:
                self._process.wait(self._spec.grace_seconds)
                break
            except subprocess.TimeoutExpired:
                continue
        self._watchdog.forget(self.pid)

    def _feed(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(self._spec.stdin)
            self._process.stdin.close()
        except BrokenPipeError:
            return  # it has ended already; wait_ready says why

    def _explain_end(self) -> bool:
        self._watchdog.forget(self.pid)
        if _ADDRESS_IN_USE in self._said().lower():
            return False
        raise self._failure(f"ended with exit code {self._process.returncode}")

    def _failure(self, what: str) -> EmbeddedUnavailable:
        said = self._said().strip()[-_TOLD_CHARACTERS:]
        return EmbeddedUnavailable(f"{self._spec.name} {what}:\n{said}", hint=f"its log is {self._log}")

    def _said(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")


def open_log(path: Path) -> BinaryIO:
    """Open a log for appending, readable by us only: what servers and handlers write may quote data."""
    return os.fdopen(os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600), "ab")


def run(argv: list[str], environment: Mapping[str, str], *, shown: str, stdin: str = "") -> str:
    """Run a program to its end and return its standard output; `shown` names it in the error.

    Raises: EmbeddedUnavailable when it fails.
    """
    done = subprocess.run(
        argv, input=stdin, capture_output=True, text=True, cwd="/", env=dict(environment), check=False
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-_TOLD_CHARACTERS:]
        raise EmbeddedUnavailable(f"{shown} failed with exit code {done.returncode}: {said}")
    return done.stdout
