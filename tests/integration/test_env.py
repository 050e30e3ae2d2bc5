"""`remand env`, and ports that stay: what was told where the servers are is right after the next start."""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remand_app.embedded.datadir import DataDir
from remand_app.embedded.stack import Stack

Command = Callable[..., Any]


def test_servers_have_the_ports_again_that_they_had(tmp_path: Path) -> None:
    with Stack(tmp_path / "data") as first:
        urls = (first.database_url, first.broker_url)
    with Stack(tmp_path / "data") as again:
        assert (again.database_url, again.broker_url) == urls

    assert Stack.serves(tmp_path / "data", urls[0])
    assert not Stack.serves(tmp_path / "data", "postgresql://elsewhere/db")
    assert not Stack.serves(tmp_path / "nothing", urls[0])


def test_a_port_that_somebody_took_meanwhile_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        data = DataDir(tmp_path / "data")
        data.create()
        data.remember_ports({"postgres": taken.getsockname()[1], "broker": taken.getsockname()[1]})
        with Stack(tmp_path / "data") as up:
            assert f":{taken.getsockname()[1]}/" not in up.database_url + up.broker_url
    assert set(data.ports()) == {"postgres", "broker"}


@pytest.mark.parametrize("kept", ["", "{", "[]", '{"postgres": "x"}'])
def test_a_spoilt_note_of_ports_is_no_obstacle(tmp_path: Path, kept: str) -> None:
    data = DataDir(tmp_path)
    (tmp_path / "ports.json").write_text(kept)

    assert data.ports() == {}


def test_env_prints_whole_lines_for_a_shell(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    url = "redis://:it's$secret@broker.internal.example.org:6379/0"
    monkeypatch.setenv("REMAND_BROKER_URL", url)

    lines = command("env").splitlines()

    values = dict(shlex.split(line)[1].split("=", 1) for line in lines if line.startswith("export "))
    assert values["CELERY_BROKER_URL"] == values["REMAND_BROKER_URL"] == url
    assert json.loads(command("env", "--json"))["CELERY_BROKER_URL"] == url
