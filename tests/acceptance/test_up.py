"""`remand up` and `remand demo` where there is nothing but Python: started, found, killed, started again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from remand_app.embedded import launch
from tests.support.site import REMAND, ROOT, TEMPLATES
from tests.support.waiting import eventually

POLICIES = ("exponential", "linear", "immediate")


class Machine:
    """One data directory, and the commands that are run on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("REMAND_")},
            "REMAND_DATA_DIR": str(folder / "data"),
            "REMAND_HANDLERS": "tests.support.handlers",
            "REMAND_TEMPLATES": str(TEMPLATES),
            "SITE_FOLDER": str(folder),
        }
        self.up: list[subprocess.Popen[bytes]] = []

    def start(self) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
        """Start `remand up`; return it once it has said what it is."""
        said = self.folder / f"up-{len(self.up)}.json"
        with said.open("wb") as out, (self.folder / "up.log").open("ab") as log:
            process = subprocess.Popen(
                launch.command([str(REMAND), "up", "--json"], death_signal=signal.SIGTERM),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                cwd=ROOT,
                env=self.environment,
                start_new_session=True,
            )
        self.up.append(process)
        eventually(lambda: said.read_text().endswith("\n"), timeout=90, message="it does not come up")
        return process, json.loads(said.read_text())

    def call(self, *words: str) -> Any:
        done = subprocess.run(
            [str(REMAND), *words, "--json"],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=self.environment,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


def family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return a process with all its descendants."""
    root = psutil.Process(process.pid)
    return [root, *root.children(recursive=True)]


def all_gone(processes: list[psutil.Process]) -> bool:
    left = []
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if one.is_running() and one.status() != psutil.STATUS_ZOMBIE:
                left.append(one)
    assert not left, f"left: {left}"
    return True


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    for process in made.up:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def assert_signs_in_once(link: str) -> None:
    dashboard, _, code = link.partition("/login/link?code=")
    with httpx.Client(base_url=dashboard) as browser:
        assert browser.get("/").headers["location"] == "/login"
        assert browser.get("/login/link", params={"code": code}).status_code == 200
        assert browser.post("/login/link", data={"code": code}).status_code == 303
        assert browser.get("/").status_code == 200
        assert browser.get("/api/v1/workflows").status_code == 200
        assert httpx.post(f"{dashboard}/login/link", data={"code": code}).status_code == 401


def test_up_serves_attaches_survives_a_kill_and_stops(machine: Machine) -> None:
    first, told = machine.start()
    assert told["status"] == "ready"
    assert {"steps-1", "control", "beat"} <= set(told["processes"])
    done = machine.call("submit", "site/chain", "--wait", "--timeout", "60")
    assert done["state"] == "complete"
    assert machine.call("doctor")["ok"] is True

    second, attached = machine.start()
    assert (attached["status"], attached["owner_pid"]) == ("running", first.pid)
    assert second.wait(30) == 0
    assert "server" in told["processes"]
    assert attached["dashboard_url"] == told["dashboard_url"]
    for link in (told["login_url"], attached["login_url"], machine.call("user", "link")["login_url"]):
        assert_signs_in_once(link)

    started = family(first)
    assert len(started) > 6
    first.kill()
    first.wait(30)
    eventually(lambda: all_gone(started), timeout=60)

    third, again = machine.start()
    assert again["status"] == "ready"
    assert machine.call("workflow", "show", done["workflow_id"])["state"] == "complete"
    assert machine.call("submit", "site/chain", "--wait", "--timeout", "60")["state"] == "complete"
    started = family(third)
    third.terminate()
    assert third.wait(60) == 0
    assert not (machine.folder / "data/dashboard.url").exists()
    eventually(lambda: all_gone(started), timeout=60)


def test_demo_shows_everything_it_promises(machine: Machine) -> None:
    told = machine.call("demo")
    assert told["complete"] > 0
    assert told["workflows"] - told["complete"] == told["dead_letters"] - told["requeued"], told
    assert all(told["retried"][policy] > 0 for policy in POLICIES)
    assert told["dead_letters"] > 0
    assert told["requeued"] > 0
    assert told["lost"] == 0
