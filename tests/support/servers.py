"""The servers that tests run on: those that REMAND_TEST_* name, else one embedded pair a run.

The pair lives in a process of its own (`python -m tests.support.servers HOME`), which ends and removes it as
soon as nobody holds `HOME/clients` any more: the kernel drops that lock however a test process ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from remand_app.embedded.stack import Stack

ROOT = Path(__file__).parents[2]
POSTGRES_OPTIONS = {"fsync": "off", "max_connections": "300"}
_LOOK_EVERY_SECONDS = 0.1
_START_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Servers:
    database_url: str
    broker_url: str
    embedded: bool


@contextmanager
def servers(run: str) -> Iterator[Servers]:
    """Yield the servers of a test run; processes that name the same run share one embedded pair."""
    database_url = os.environ.get("REMAND_TEST_DATABASE_URL")
    broker_url = os.environ.get("REMAND_TEST_BROKER_URL")
    if database_url and broker_url:
        yield Servers(database_url, broker_url, embedded=False)
        return
    with _embedded(Path(tempfile.gettempdir()) / f"remand-test-{run}") as pair:
        yield Servers(database_url or pair.database_url, broker_url or pair.broker_url, embedded=True)


@contextmanager
def _embedded(home: Path) -> Iterator[Servers]:
    clients = _join(home)
    try:
        with _locked(home / "start", fcntl.LOCK_EX):
            up = Stack.running(home / "data")
            if up is None:
                subprocess.run(
                    [sys.executable, "-m", "tests.support.servers", str(home)],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    check=True,
                )
                deadline = time.monotonic() + _START_TIMEOUT_SECONDS
                while (up := Stack.running(home / "data")) is None:
                    assert time.monotonic() < deadline, f"no servers in {home}: see {home}/data/*.log"
                    time.sleep(_LOOK_EVERY_SECONDS)
        yield Servers(up.database_url, up.broker_url, embedded=True)
    finally:
        os.close(clients)


def _join(home: Path) -> int:
    """Hold the clients' lock of a home that is there to stay: the keeper may be removing the last one."""
    while True:
        home.mkdir(mode=0o711, exist_ok=True)
        try:
            clients = os.open(home / "clients", os.O_CREAT | os.O_RDWR, 0o600)
        except FileNotFoundError:
            continue
        fcntl.flock(clients, fcntl.LOCK_SH)
        if os.fstat(clients).st_nlink:
            return clients
        os.close(clients)


@contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def keep(home: Path) -> None:
    """Run the pair until no test process wants it, then remove every trace."""
    clients = os.open(home / "clients", os.O_RDWR)
    with Stack(home / "data", postgres_options=POSTGRES_OPTIONS):
        while not _alone(clients):
            time.sleep(_LOOK_EVERY_SECONDS)
    shutil.rmtree(home)


def _alone(clients: int) -> bool:
    try:
        fcntl.flock(clients, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__" and os.fork() == 0:
    # The one who asked waits for the parent only: the keeper is nobody's child.
    keep(Path(sys.argv[1]))
