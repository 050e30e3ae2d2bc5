"""The embedded Postgres: make a cluster, check its version, build its command line, tell when it is ready.

The cluster listens on TCP only, with a password: every client supports that.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from remand_app.domain.errors import EmbeddedUnavailable
from remand_app.embedded.binaries import PG_BIN
from remand_app.embedded.servers import Host, ServerSpec, run
from remand_app.embedded.watchdog import Phase, command_of

DATABASE = "remand"
_LEFTOVER_SECONDS = 10.0
ROLE = "postgres"

# Without -E, a C locale would make SQL_ASCII, for which drivers return bytes.
_INITDB = ("-U", ROLE, "-E", "UTF8", "--locale=C", "--auth=scram-sha-256", "--no-instructions")
_OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_wal_size": "512MB",
}
_FAST_STOP_SECONDS = 30.0
_STATUS_LINE = 7
_CREATE_IF_MISSING = """
select 'create database remand'
 where not exists (select from pg_database where datname = 'remand') \\gexec
"""


@dataclass(frozen=True, slots=True)
class Postgres:
    """One cluster: programs, directory, password of the role `postgres`, options that override ours."""

    programs: Path
    directory: Path
    password: str
    options: Mapping[str, str]

    def url(self, port: int) -> str:
        """Return the URL of the database `remand`."""
        return f"postgresql://{ROLE}:{self.password}@127.0.0.1:{port}/{DATABASE}"

    def spec(self, port: int) -> ServerSpec:
        """Return how to run the server. SIGINT is its fast shutdown, SIGQUIT one that needs recovery."""
        options = {**_OPTIONS, **self.options}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return ServerSpec(
            name="postgres",
            argv=(self._program("postgres"), "-D", str(self.directory), "-p", str(port), *settings),
            is_ready=self._is_ready,
            phase=Phase.DATABASE,
            ask_signal=signal.SIGINT,
            end_signal=signal.SIGQUIT,
            grace_seconds=_FAST_STOP_SECONDS,
        )

    def prepare(self, host: Host) -> None:
        """Make the cluster if there is none, and remove what a crash left in the way of a start.

        Raises: EmbeddedUnavailable when the cluster is of another major version, or in use.
        """
        if (self.directory / "PG_VERSION").exists():
            self._check_major_version(host)
            self._clear_stale_pid_file()
        else:
            self._create(host)

    def ensure_database(self, host: Host, port: int) -> None:
        """Create the database `remand` if missing; this also proves that the password is the cluster's.

        Raises: EmbeddedUnavailable when the server does not let us in.
        """
        psql = [self._program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1"]
        psql += ["-h", "127.0.0.1", "-p", str(port), "-U", ROLE, "-d", "postgres"]
        run(psql, host.environment(PGPASSWORD=self.password), shown=psql[0], stdin=_CREATE_IF_MISSING)

    def _create(self, host: Host) -> None:
        # initdb is not atomic: a half-made cluster must never stand at the final name.
        aside = self.directory.with_name(f"{self.directory.name}.init")
        password_file = self.directory.with_name(f"{self.directory.name}.password")
        _remove_leftover(aside)
        aside.mkdir(mode=0o700)
        host.identity.give(aside)
        try:
            self._write_password(password_file, host)
            host.run(self._program("initdb"), "-D", str(aside), "--pwfile", str(password_file), *_INITDB)
        finally:
            password_file.unlink(missing_ok=True)
        aside.rename(self.directory)

    def _write_password(self, path: Path, host: Host) -> None:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(self.password + "\n")
        host.identity.give(path)

    def _check_major_version(self, host: Host) -> None:
        cluster = (self.directory / "PG_VERSION").read_text().strip()
        said = host.run(self._program("postgres"), "--version")
        match = re.search(r"\) (\d+)", said)
        programs = match.group(1) if match else said.strip()
        if programs != cluster:
            raise EmbeddedUnavailable(
                f"{self.directory} was made by Postgres {cluster}, but the binaries are Postgres {programs}",
                hint=(
                    f"set {PG_BIN} to binaries of Postgres {cluster}, start, save the data with pg_dump -Fc, "
                    f"stop, move {self.directory} away, unset {PG_BIN}, start, load with pg_restore"
                ),
            )

    def _clear_stale_pid_file(self) -> None:
        """Remove a pid file left by a crash: Postgres would not start if any program now has that pid."""
        lines = self._pid_file_lines()
        pid = int(lines[0]) if lines and lines[0].isdigit() else 0
        if pid and "postgres" in (command := command_of(pid)) and str(self.directory) in command:
            raise EmbeddedUnavailable(
                f"another Postgres (pid {pid}) runs on {self.directory}, and no owner of ours started it",
                hint=f"stop it: kill -INT {pid}",
            )
        (self.directory / "postmaster.pid").unlink(missing_ok=True)

    def _is_ready(self, pid: int) -> bool:
        lines = self._pid_file_lines()
        return len(lines) > _STATUS_LINE and lines[0] == str(pid) and lines[_STATUS_LINE].strip() == "ready"

    def _pid_file_lines(self) -> list[str]:
        try:
            return (self.directory / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return []

    def _program(self, name: str) -> str:
        return str(self.programs / name)


def _remove_leftover(folder: Path) -> None:
    """Remove what a killed start left behind; try again while its leftover initdb still writes there."""
    until = time.monotonic() + _LEFTOVER_SECONDS
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > until:
            raise EmbeddedUnavailable(f"{folder} cannot be removed", hint="remove it and start again")
        time.sleep(0.01)
