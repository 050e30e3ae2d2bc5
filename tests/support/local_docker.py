"""A stand-in for Docker's client whose containers are processes of this machine.

pytest-celery asks for Docker in one place, the fixture `docker_client`; with this one its stock fixtures run
anywhere. Only what they call is here: run, create (to seed a volume), logs, kill, stop, restart, exec.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from remand_app.embedded import binaries, launch
from remand_app.embedded.stack import free_port

_STOP_SECONDS = 20


class LocalContainer:
    """What pytest-docker-tools expects of a container."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        ports: Mapping[str, Any],
        volumes: Mapping[str, Path],
        labels: Mapping[str, str],
    ) -> None:
        self.id = uuid4().hex
        self.name = f"local-{self.id[:8]}"
        self.image, self.labels, self.status = "local", dict(labels), "created"
        self._command = list(command)
        self._environment = dict(environment)
        self._volumes = dict(volumes)
        self._ports = {inner: free_port() for inner in ports}
        self._folder = Path(tempfile.mkdtemp(prefix="remand-container-"))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def attrs(self) -> dict[str, Any]:
        port = next(iter(self._ports.values()), None)
        return {
            "Config": {
                "Hostname": "127.0.0.1" if port is None else f"127.0.0.1:{port}",
                "Labels": self.labels,
                "Env": [f"{name}={value}" for name, value in self._environment.items()],
            },
            "State": {"ExitCode": self._process.returncode if self._process else None},
            "HostConfig": {"PortBindings": {inner: [{}] for inner in self._ports}},
            "NetworkSettings": {
                "Networks": {"local": {"IPAddress": "127.0.0.1"}},
                "Ports": {
                    inner: [{"HostIp": "127.0.0.1", "HostPort": str(outer)}]
                    for inner, outer in self._ports.items()
                },
            },
            "Mounts": [],
        }

    def start(self) -> LocalContainer:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                launch.command(self._argv(), death_signal=signal.SIGKILL),
                stdout=log,
                stderr=log,
                cwd=next(iter(self._volumes.values()), self._folder),
                env=self._env(),
                start_new_session=True,
            )
        self.status = "running"
        return self

    def reload(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            self.status = "exited"

    def logs(self, **_: Any) -> bytes:
        return (self._folder / "log").read_bytes()

    def kill(self, signal: Any = None) -> None:
        self._signal(signal or "SIGKILL")

    def stop(self, timeout: float = _STOP_SECONDS) -> None:
        if self._process is not None and self._process.poll() is None:
            self._signal("SIGTERM")
            try:
                self._process.wait(timeout)
            except subprocess.TimeoutExpired:
                self._signal("SIGKILL")
        self.reload()

    def restart(self, timeout: float = _STOP_SECONDS) -> None:
        self.stop(timeout)
        self.start()

    def wait(self, timeout: float | None = None) -> dict[str, int]:
        assert self._process is not None
        return {"StatusCode": self._process.wait(timeout)}

    def remove(self, **_: Any) -> bool:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        return True

    def exec_run(self, cmd: Any, **_: Any) -> tuple[int, bytes]:
        """Answer the question which ports are open; that is how readiness is asked for."""
        assert str(cmd).startswith("cat /proc/net/tcp"), cmd
        rows = ["sl local rem st"]
        for inner, outer in self._ports.items():
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", outer)) == 0:
                    rows.append(f"0: 00000000:{int(inner.split('/')[0]):04X} 0:0 0A")
        return 0, "\n".join(rows).encode()

    def put_archive(self, path: str, data: Any) -> bool:
        with tarfile.open(fileobj=BytesIO(data.read())) as archive:
            archive.extractall(self._volumes.get(path, self._folder), filter="data")
        return True

    def _signal(self, name: Any) -> None:
        """A container dies whole; other signals go to its first process alone."""
        assert self._process is not None
        number = signal.Signals[name] if isinstance(name, str) else signal.Signals(name)
        if number == signal.SIGKILL:
            os.killpg(self._process.pid, number)
            self._process.wait(_STOP_SECONDS)
        else:
            self._process.send_signal(number)

    def _argv(self) -> list[str]:
        program, *arguments = (word.replace("%h", self.id[:12]) for word in self._command)
        if program == "redis-server":
            [port] = self._ports.values()
            return [str(binaries.find().broker), "--port", str(port), "--bind", "127.0.0.1", *arguments]
        return [str(Path(sys.executable).with_name(program)), *arguments]

    def _env(self) -> dict[str, str]:
        mounted = {bind: str(path) for bind, path in self._volumes.items()}
        told = {name: mounted.get(value, value) for name, value in self._environment.items()}
        return {**os.environ, **told}


class LocalDockerClient:
    """What pytest-docker-tools calls of `docker.DockerClient`."""

    def __init__(self) -> None:
        self._volumes: dict[str, Path] = {}
        self.containers = SimpleNamespace(run=self._run, create=self._create, list=lambda **_: [])
        self.images = SimpleNamespace(
            build=lambda **told: (_named(told.get("tag") or "local"), iter(())),
            pull=lambda repository=None, **_: _named(repository),
            get=_named,
        )
        self.networks = SimpleNamespace(create=self._network)
        self.volumes = SimpleNamespace(create=self._volume)

    def _run(self, image: Any, command: Any = None, **told: Any) -> LocalContainer:
        return self._container(command, told).start()

    def _create(self, image: Any, command: Any = None, **told: Any) -> LocalContainer:
        return self._container(command or ["true"], told)

    def _container(self, command: Any, told: Mapping[str, Any]) -> LocalContainer:
        mounted = {spec["bind"]: self._volumes[name] for name, spec in (told.get("volumes") or {}).items()}
        words = command.split() if isinstance(command, str) else command
        return LocalContainer(
            words, told.get("environment") or {}, told.get("ports") or {}, mounted, told.get("labels") or {}
        )

    def _network(self, name: str, labels: Any = None, **_: Any) -> Any:
        return SimpleNamespace(
            name=name, id=name, attrs={"Name": name, "Labels": labels or {}}, remove=_nothing
        )

    def _volume(self, name: str, labels: Any = None, **_: Any) -> Any:
        path = self._volumes[name] = Path(tempfile.mkdtemp(prefix="remand-volume-"))

        def remove(*_: Any, **__: Any) -> None:
            shutil.rmtree(path, ignore_errors=True)

        return SimpleNamespace(
            name=name, id=name, attrs={"Name": name, "Labels": labels or {}}, remove=remove
        )


def _named(name: Any) -> Any:
    return SimpleNamespace(id=str(name), name=str(name))


def _nothing(*_: Any, **__: Any) -> None: ...
