"""Servers of one test alone, on ports that stay: to be stopped, killed, emptied and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import kombu
import psycopg2
import redis
import sqlalchemy as sa

from remand_app.embedded import binaries, launch
from remand_app.embedded.stack import Stack, free_port
from tests.support.brokers import QUEUES, delete_queues
from tests.support.servers import POSTGRES_OPTIONS
from tests.support.waiting import eventually


class OwnBroker:
    """A Redis-protocol broker that keeps nothing, so that a restart empties it; unless it is to keep all."""

    def __init__(self, folder: Path, *, keeps: bool = False) -> None:
        self._folder = folder
        self._keeps = "yes" if keeps else "no"
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        command = [str(binaries.find().broker), "--port", str(self._port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--appendonly", self._keeps]
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                launch.command(command, death_signal=signal.SIGKILL),
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )
        eventually(self._answers, timeout=30, message="the broker does not start")

    def stop(self) -> None:
        """Kill it. Idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self, *, thaw: bool = False) -> None:
        """Let it keep its connections and say nothing, or speak again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT if thaw else signal.SIGSTOP)

    def empty(self) -> None:
        """Lose every message, as a server does whose data are gone."""
        with self.client() as client:
            client.flushall()

    def client(self) -> redis.Redis:
        """Return a connection that the caller closes."""
        return redis.Redis.from_url(self.url)

    def _answers(self) -> bool:
        with contextlib.suppress(redis.RedisError), self.client() as client:
            return bool(client.ping())
        return False


class OwnRabbit:
    """A node of RabbitMQ with its data in a folder, beside whatever else runs on this machine."""

    PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
    """What Debian's own script starts, after it has become another user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "rabbit"
        self._folder.mkdir()
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"amqp://guest:guest@127.0.0.1:{self._port}//"

    @classmethod
    def is_installed(cls) -> bool:
        return os.access(cls.PROGRAM, os.X_OK)

    def start(self) -> None:
        with (self._folder / "rabbit.log").open("ab") as log:
            self._process = subprocess.Popen(
                launch.command([str(self.PROGRAM)], death_signal=signal.SIGKILL),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._environment(),
                start_new_session=True,
            )
        eventually(self._answers, timeout=60, message="RabbitMQ does not start")

    def stop(self) -> None:
        """Kill it with all its processes. Idempotent."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)

    def freeze(self, *, thaw: bool = False) -> None:
        """Let it keep its connections and say nothing, or speak again."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGCONT if thaw else signal.SIGSTOP)

    def empty(self) -> None:
        """Lose every queue, while it runs, with whoever listens to it."""
        delete_queues(self.url, (*QUEUES, "side"))

    def _environment(self) -> dict[str, str]:
        for name in ("env.conf", "rabbitmq.conf"):
            (self._folder / name).touch()
        files = {
            "CONF_ENV_FILE": "env.conf",
            "CONFIG_FILE": "rabbitmq.conf",
            "ENABLED_PLUGINS_FILE": "plugins",
        }
        folders = {"MNESIA_BASE": "data", "LOG_BASE": "log", "PID_FILE": "pid"}
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"remand-test-{self._port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            **{f"RABBITMQ_{name}": str(self._folder / path) for name, path in {**files, **folders}.items()},
        }

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"it ended: see {self._folder}"
        with contextlib.suppress(OSError, kombu.exceptions.OperationalError):
            with kombu.Connection(self.url, connect_timeout=2) as connection:
                connection.ensure_connection(max_retries=1, timeout=2)
            return True
        return False


class TlsBroker:
    """A Redis that speaks TLS alone, if any on this machine can."""

    def __init__(self, folder: Path, certificate: Path, key: Path) -> None:
        self._folder = folder
        self._files = ("--tls-cert-file", str(certificate), "--tls-key-file", str(key))
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def start(self) -> bool:
        """Start it; False: none here can."""
        found = [shutil.which(name) for name in ("redis-server", "valkey-server")]
        for program in filter(None, (*found, str(binaries.find().broker))):
            command = [program, "--port", "0", "--bind", "127.0.0.1", "--save", "", *self._files]
            command += ["--tls-port", str(self.port), "--tls-auth-clients", "no"]
            with (self._folder / "broker.log").open("ab") as log:
                self._process = subprocess.Popen(
                    launch.command(command, death_signal=signal.SIGKILL),
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                )
            eventually(lambda: self._process.poll() is not None or self._listens(), timeout=30)  # type: ignore[union-attr]
            if self._process.poll() is None:
                return True
        return False

    def stop(self) -> None:
        """Kill it. Idempotent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class OwnPostgres:
    """A Postgres with its data in a folder."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "servers"
        self._ports = {"postgres_port": free_port(), "broker_port": free_port()}
        self._stack: Stack | None = None
        self.url = ""

    def start(self) -> None:
        self._stack = Stack(self._data, postgres_options=POSTGRES_OPTIONS, **self._ports)
        self.url = self._stack.start().database_url

    @property
    def cluster(self) -> Path:
        """The folder of its data."""
        return self._data / "postgres"

    def encrypt(self, certificate: Path, key: Path) -> None:
        """Let it speak TLS from the next connection on."""
        cluster = self.cluster
        owner = cluster.stat()
        for source, name in ((certificate, "server.crt"), (key, "server.key")):
            (cluster / name).write_bytes(source.read_bytes())
            (cluster / name).chmod(0o600)
            os.chown(cluster / name, owner.st_uid, owner.st_gid)
        with contextlib.closing(psycopg2.connect(self.url)) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute("alter system set ssl = on")
                cursor.execute("select pg_reload_conf()")

    def stop(self) -> None:
        """Stop it as `pg_ctl stop -m fast` does. Idempotent."""
        if self._stack is not None:
            self._stack.stop()
            self._stack = None

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Kill the postmaster; its children notice and end. SIGQUIT: as `pg_ctl stop -m immediate` does."""
        pid = int((self.cluster / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, number)
        eventually(lambda: not self._accepts(), timeout=30)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _accepts(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._ports["postgres_port"])) == 0


class SmallDiskPostgres:
    """A Postgres whose disk can be filled and emptied. Needs root: the disk is mounted for it alone."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self._folder = folder
        self._megabytes = megabytes
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    @staticmethod
    def is_possible() -> bool:
        tried = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
        return os.geteuid() == 0 and subprocess.run(tried, check=False, capture_output=True).returncode == 0

    def start(self) -> None:
        program = [sys.executable, "-m", "tests.support.small_disk", str(self._folder), str(self._megabytes)]
        self._process = subprocess.Popen(
            ["unshare", "-m", *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, f"it does not start: {self._process.wait(30)}"

    def stop(self) -> None:
        """Stop it, and its disk is gone. Idempotent."""
        if self._process is not None:
            with self._process as process:
                assert process.stdin is not None
                process.stdin.close()

    def fill(self, *, but: int) -> None:
        """Take all the room of the disk but so many bytes."""
        disk = os.statvfs(self._disk)
        with (self._disk / "filler").open("wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, disk.f_bavail * disk.f_frsize - but)

    def empty(self) -> None:
        """Give the room back."""
        (self._disk / "filler").unlink()

    @property
    def _disk(self) -> Path:
        assert self._process is not None
        return Path(f"/proc/{self._process.pid}/root") / self._folder.relative_to("/")


class Standby:
    """A copy of an `OwnPostgres` that follows it, and can take its place."""

    def __init__(self, primary: OwnPostgres, folder: Path) -> None:
        self._primary = sa.make_url(primary.url)
        self._owner = primary.cluster.stat()
        self._cluster = folder / "standby"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def start(self) -> None:
        """Copy the primary and follow it."""
        self._cluster.mkdir(mode=0o700)
        os.chown(self._cluster, self._owner.st_uid, self._owner.st_gid)
        host = ["-h", "127.0.0.1", "-p", str(self._primary.port), "-U", str(self._primary.username)]
        copy = self._command("pg_basebackup", "-D", str(self._cluster), "-R", "-c", "fast", *host)
        password = {"PGPASSWORD": str(self._primary.password)}
        subprocess.run(copy, check=True, cwd=self._cluster, env={**os.environ, **password})
        options = [f"--{name}={value}" for name, value in POSTGRES_OPTIONS.items()]
        places = ["--listen_addresses=127.0.0.1", "--unix_socket_directories="]
        run = self._command("postgres", "-D", str(self._cluster), "-p", str(self.port), *places, *options)
        with (self._cluster.parent / "standby.log").open("ab") as log:
            self._process = subprocess.Popen(run, stdout=log, stderr=log, cwd=self._cluster)
        eventually(lambda: self._ask("select pg_is_in_recovery()"), timeout=60)

    def has_all_of(self, primary: OwnPostgres) -> bool:
        """Return whether it has replayed what the primary has written."""
        with contextlib.closing(psycopg2.connect(primary.url)) as connection, connection.cursor() as cursor:
            cursor.execute("select pg_current_wal_lsn()")
            written = cursor.fetchone()[0]
        return bool(self._ask("select pg_last_wal_replay_lsn() >= %s::pg_lsn", written))

    def promote(self) -> None:
        """Let it take writes."""
        assert self._ask("select pg_promote(true, 60)")

    def stop(self) -> None:
        """Kill it. Idempotent."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)

    def _ask(self, sql: str, *arguments: object) -> object:
        url = self._primary.set(port=self.port).render_as_string(hide_password=False)
        try:
            with contextlib.closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
                cursor.execute(sql, arguments)
                return cursor.fetchone()[0]
        except psycopg2.OperationalError:
            return None

    def _command(self, program: str, *arguments: str) -> list[str]:
        argv = [str(binaries.find().postgres / program), *arguments]
        if os.geteuid() != 0:
            return launch.command(argv, death_signal=signal.SIGQUIT)
        uid, gid = self._owner.st_uid, self._owner.st_gid
        return launch.command(argv, death_signal=signal.SIGQUIT, uid=uid, gid=gid, overrides_access=True)
