"""README's "Run it for real", word by word: its commands, on a database, a broker and a port of their own."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from remand_app.embedded.stack import free_port
from remand_app.store import workers
from remand_app.store.database import Database
from tests.support.brokers import clean_broker, rabbitmq_url
from tests.support.fixtures import _worker_number
from tests.support.servers import Servers
from tests.support.site import PATIENCE_SECONDS, REMAND, ROOT
from tests.support.waiting import eventually

README = (ROOT / "README.md").read_text()
PASSWORD = "correct-horse-7-battery"


def block(section: str, language: str, number: int = 0) -> str:
    """Return the n-th block of a language in a section of the README."""
    text = README.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)[number]


def commands() -> list[list[str]]:
    """Return the commands of the section as words, comments left out."""
    lines = block("Run it for real", "console").splitlines()
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in lines if line.startswith("$ ")]


class Reader:
    """Somebody who does what the README says, in a folder of their own."""

    def __init__(self, folder: Path, database_url: str, broker_url: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("REMAND_")},
            "PATH": f"{REMAND.parent}{os.pathsep}{os.environ['PATH']}",
            "REMAND_WEB__PORT": str(self.port),
        }
        self._urls = {"REMAND_DATABASE_URL": database_url, "REMAND_BROKER_URL": broker_url}
        self.started: list[subprocess.Popen[bytes]] = []
        (folder / "shop").mkdir()
        (folder / "templates").mkdir()
        (folder / "shop" / "steps.py").write_text(block("What it looks like", "python"))
        (folder / "templates" / "quote.yaml").write_text(block("What it looks like", "yaml"))

    def export(self, words: list[str]) -> None:
        for name, _, value in (word.partition("=") for word in words):
            self.environment[name] = self._urls.get(name, value)

    def run(self, words: list[str]) -> str:
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def answer(self, words: list[str], said: str) -> None:
        """Run a command at a terminal, and type this each time that it asks."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe(words[0], words, self.environment)
        shown = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(terminal, 1000):
                shown += chunk
                if shown.endswith(b": "):
                    os.write(terminal, f"{said}\n".encode())
        os.close(terminal)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, shown.decode()

    def start(self, words: list[str]) -> None:
        with (self.folder / f"{len(self.started)}.log").open("wb") as log:
            self.started.append(
                subprocess.Popen(
                    words,
                    cwd=self.folder,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def log(self) -> str:
        return "\n".join(
            path.read_text(errors="replace")[-3000:] for path in sorted(self.folder.glob("*.log"))
        )

    def stop(self) -> list[int]:
        for process in self.started:
            process.terminate()
        return [process.wait(PATIENCE_SECONDS) for process in self.started]


@pytest.fixture(params=["redis", "rabbitmq"])
def reader(
    request: pytest.FixtureRequest, test_servers: Servers, empty_database_url: str, tmp_path: Path
) -> Iterator[Reader]:
    url = test_servers.broker_url if request.param == "redis" else rabbitmq_url()
    if not url.startswith(request.param.replace("rabbitmq", "amqp")):
        pytest.skip("the servers of this run are others")
    with clean_broker(url, _worker_number()) as broker_url:
        made = Reader(tmp_path, empty_database_url, broker_url)
        yield made
        for process in made.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait(30)


@pytest.fixture
def price_list() -> Iterator[str]:
    class Prices(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"tea": 4}')

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prices) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/prices.json"
        server.shutdown()


def test_the_commands_of_the_readme_run_it_for_real(
    reader: Reader, empty_database_url: str, price_list: str
) -> None:
    for words in commands():
        match words:
            case ["export", *given]:
                reader.export(given)
            case ["remand", "worker" | "beat" | "serve", *_]:
                reader.start(words)
            case ["remand", "user", *_]:
                reader.answer(words, PASSWORD)
            case _:
                reader.run(words)
    # "as many of each as you like"
    reader.start(["remand", "worker", "--queues", "steps"])

    database = Database(empty_database_url)
    eventually(lambda: len(names(database)) == 3, timeout=PATIENCE_SECONDS, message="three names")
    asked = json.dumps({"price_list": price_list, "items": ["tea"]})
    told = reader.run(["remand", "submit", "shop/quote", "--input", asked, "--wait", "--json"])
    assert json.loads(told)["state"] == "complete"
    sign_in(f"http://127.0.0.1:{reader.port}")
    assert [process.poll() for process in reader.started] == [None] * 5, reader.log()
    eventually(lambda: reader.run(["remand", "doctor"]), timeout=PATIENCE_SECONDS)
    database.dispose()
    # The server ends by the very signal, once its requests have ended.
    assert reader.stop() == [0, 0, 0, -signal.SIGTERM, 0], reader.log()


def names(database: Database) -> set[str]:
    return {one.hostname for one in workers.listed(database) if one.stopped_at is None}


def sign_in(address: str) -> None:
    with httpx.Client(base_url=address, headers={"Origin": address}) as browser:
        eventually(lambda: _answers(browser), timeout=PATIENCE_SECONDS)
        assert browser.get("/").headers["location"].startswith("/login")
        assert browser.post("/login", data={"name": "ada", "password": PASSWORD}).status_code == 303
        assert "shop/quote" in browser.get("/workflows").text


def _answers(browser: httpx.Client) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return browser.get("/login").status_code == 200
    return False
