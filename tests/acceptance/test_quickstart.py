"""The quickstart as a newcomer types it, and the README's client beside it: printed is what is told."""

from __future__ import annotations

import functools
import http.server
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from remand_app.embedded import launch
from tests.support.pages import code
from tests.support.site import REMAND, ROOT
from tests.support.waiting import eventually

PAGE = "docs/quickstart.md"
_ID = re.compile(r"\b[0-9a-f]{6}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b")
_ANY = re.compile(
    rf"…|{_ID.pattern}|\d+(?:\.\d+)? ?(?:ms|s|min)\b|(?<=revision )\d+|(?<=127\.0\.0\.1:)\d+|\s{{2,}}"
)
"""What differs from run to run."""


class Folder:
    """The newcomer's folder, with `remand up` running in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("REMAND_", "CELERY_"))
        }
        self.environment = {**kept, "PATH": f"{REMAND.parent}:{kept['PATH']}", "COLUMNS": "200"}

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)

    def run(self, *words: str, exits: int = 0, **more: str) -> str:
        done = subprocess.run(
            words, capture_output=True, text=True, cwd=self.path, env={**self.environment, **more},
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == exits, f"{shlex.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def remand(self, *words: str, exits: int = 0) -> str:
        return self.run(str(REMAND), *words, exits=exits)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    made = Folder(tmp_path)
    shop, *_ = code(PAGE, "python")
    template, *_ = code(PAGE, "yaml")
    made.write("shop.py", shop)
    made.write("quote.yaml", template)
    made.write("remand.toml", code(PAGE, "toml")[0])
    said, log = tmp_path / "up.txt", tmp_path / "up.log"
    with said.open("wb") as out, log.open("wb") as errors:
        process = subprocess.Popen(
            launch.command([str(REMAND), "up", "--dev"], death_signal=signal.SIGTERM),
            stdin=subprocess.DEVNULL, stdout=out, stderr=errors, cwd=tmp_path, env=made.environment,
            start_new_session=True,
        )  # fmt: skip
    try:
        eventually(lambda: "Ctrl-C stops everything" in said.read_text(), timeout=90, message=log.read_text())
        yield made
    finally:
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture
def price_server(folder: Folder) -> Iterator[Path]:
    served = folder.path / "served"
    served.mkdir()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(served))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    folder.environment["PRICES"] = f"http://127.0.0.1:{server.server_port}/prices.json"
    yield served
    server.shutdown()
    thread.join()


def told(page: str, command: str) -> list[str]:
    """Return the lines that the page shows below a command."""
    text = (ROOT / page).read_text()
    _, _, after = text.partition(f"$ remand {command}")
    lines = after.partition("\n")[2].partition("```")[0].splitlines()
    shown = []
    for line in lines:
        if line.startswith("$ "):
            break
        shown.append(line)
    return shown


def pattern(line: str) -> str:
    """Return what fits a line of the page: ids, spans of time and what is left out may be any."""
    parts = _ANY.split(line)
    return ".*".join(re.escape(part) for part in parts)


def assert_told(shown: str, page_lines: list[str]) -> None:
    for line in filter(None, map(str.strip, page_lines)):
        assert re.search(pattern(line), shown), f"the page shows\n  {line}\nprinted is\n{shown}"


def test_the_quickstart_word_by_word(folder: Folder, price_server: Path) -> None:
    up = (folder.path / "up.txt").read_text()
    assert_told(up, told(PAGE, "up\n"))
    assert_told(folder.remand("template", "validate", "quote.yaml"), told(PAGE, "template validate"))

    prices = folder.environment["PRICES"]
    given = f'{{"price_list": "{prices}", "items": ["tea", "mug"]}}'
    submitted = folder.remand("submit", "shop/quote", "--input", given)
    assert_told(submitted, told(PAGE, "submit"))
    workflow_id = submitted.split()[2]
    ended = folder.remand("workflow", "wait", workflow_id, exits=1)
    assert_told(ended, told(PAGE, "workflow wait")[:1])
    listed = folder.remand("dlq", "list")
    assert_told(listed, told(PAGE, "dlq list"))
    letter = next(_ID.findall(line)[0] for line in listed.splitlines()[1:])
    for words in (
        ["dlq", "show", letter],
        ["dlq", "claim", letter],
        ["dlq", "note", letter, "never published"],
    ):
        folder.remand(*words)

    (price_server / "prices.json").write_text('{"tea": 895, "mug": 1400}')
    requeued = folder.remand("dlq", "requeue", letter, "--reason", "price list is there now")
    assert_told(requeued, told(PAGE, "dlq requeue"))
    folder.remand("workflow", "wait", workflow_id)
    assert_told(folder.remand("step", "show", workflow_id, "total"), told(PAGE, "step show af7407 total"))
    folder.remand("workflow", "history", workflow_id)

    snippet = next(block for block in code("README.md", "python") if "Client(celery_app)" in block)
    snippet = snippet.replace("http://127.0.0.1:8971/prices.json", prices)
    exports = folder.run("sh", "-c", f'eval "$({shlex.quote(str(REMAND))} env)"; env')
    told_env = dict(line.split("=", 1) for line in exports.splitlines() if "=" in line)
    printed = folder.run(sys.executable, "-c", snippet, CELERY_BROKER_URL=told_env["CELERY_BROKER_URL"])
    assert printed.strip() == "complete"

    # --dev: what is saved runs a moment later, the template changed under its version.
    template = (folder.path / "quote.yaml").read_text()
    folder.write("quote.yaml", template.replace("name: total\n", "name: sum\n"))
    eventually(lambda: "published shop/quote:1" in (folder.path / "up.log").read_text(), timeout=60)
    again = folder.remand("submit", "shop/quote", "--input", given, "--wait", "--timeout", "60", "--json")
    assert '"complete"' in again
    shown = folder.remand("workflow", "show", again.split('"workflow_id": "')[1][:36])
    assert "sum" in shown
