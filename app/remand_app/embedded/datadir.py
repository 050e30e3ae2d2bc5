"""The files of a data directory that say who is in charge: locks, the secret, and stack.json.

The owner holds `lock`. Every server it started holds `servers.lock`, so that this lock outlives a killed
owner for as long as a server lives. `stack.json` tells other processes the URLs, and is locked too: if it is
unlocked, its owner is dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from remand_app.domain.errors import EmbeddedUnavailable

OWNER = "lock"
SERVERS = "servers.lock"
_NEWS = "stack.json"
_PORTS = "ports.json"


class DataDir:
    """One data directory, seen by one process."""

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().resolve()
        self._published: int | None = None

    def create(self) -> None:
        """Make the directory: the servers' account can reach its own parts, nobody else can read anything.

        Raises: EmbeddedUnavailable when it cannot be made.
        """
        try:
            self.path.mkdir(mode=0o711, parents=True, exist_ok=True)
        except OSError as error:
            raise EmbeddedUnavailable(
                f"cannot make the data directory {self.path}: {error.strerror}",
                hint="choose another data_dir",
            ) from error

    def try_lock(self, name: str) -> int | None:
        """Take a lock and return its descriptor, or None when somebody holds it.

        Raises: EmbeddedUnavailable when the directory is another user's.
        """
        with self._as_ours():
            descriptor = os.open(self.path / name, os.O_CREAT | os.O_RDWR, 0o600)
        if _is_locked_elsewhere(descriptor, fcntl.LOCK_EX):
            os.close(descriptor)
            return None
        return descriptor

    def secret(self) -> str:
        """Return the password of both servers, made at first use.

        Raises: EmbeddedUnavailable when it is lost but the data that needs it is there.
        """
        file = self.path / "secret"
        if not file.exists():
            if (self.path / "postgres").exists():
                raise EmbeddedUnavailable(
                    f"{file} is missing, and the data beside it cannot be opened without it",
                    hint="restore the file, or move the directory away to start afresh",
                )
            os.close(_replace(file, secrets.token_hex(16)))
        return file.read_text().strip()

    def ports(self) -> dict[str, int]:
        """Return the ports that the servers had last, by name; empty before their first start."""
        try:
            noted = json.loads((self.path / _PORTS).read_text())
            return {name: int(noted[name]) for name in ("postgres", "broker")}
        except (OSError, ValueError, TypeError, KeyError):
            return {}

    def remember_ports(self, ports: Mapping[str, int]) -> None:
        """Keep the ports, so that an address of a server stays valid after the next start."""
        os.close(_replace(self.path / _PORTS, json.dumps(ports)))

    def publish(self, news: Mapping[str, str | int]) -> None:
        """Put `news` into stack.json, readable by us only, valid until `withdraw` or our end."""
        self._published = _replace(self.path / _NEWS, json.dumps(news))

    def published(self) -> dict[str, str | int] | None:
        """Return the news of a living owner, None when there is none.

        Raises: EmbeddedUnavailable when the directory is another user's.
        """
        try:
            with self._as_ours(), (self.path / _NEWS).open() as file:
                if not _is_locked_elsewhere(file.fileno(), fcntl.LOCK_SH):
                    return None
                news: dict[str, str | int] = json.load(file)
                return news
        except FileNotFoundError:
            return None

    def withdraw(self) -> None:
        """Take the news back. Idempotent."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / _NEWS).unlink()
        if self._published is not None:
            os.close(self._published)
            self._published = None

    @contextlib.contextmanager
    def _as_ours(self) -> Iterator[None]:
        try:
            yield
        except PermissionError as error:
            raise EmbeddedUnavailable(
                f"{self.path} belongs to another user", hint="run as that user, or choose another data_dir"
            ) from error


def _is_locked_elsewhere(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _replace(path: Path, text: str) -> int:
    """Write a file atomically and return it open and locked."""
    aside = path.with_name(f"{path.name}.new")
    descriptor = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, text.encode())
    aside.rename(path)
    return descriptor
