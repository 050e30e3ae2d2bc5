"""The commands of `docs/operations/metrics-and-alerts.md`, as they stand there, on a site without workers."""

from __future__ import annotations

from pathlib import Path

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from tests.support.pages import commands
from tests.support.web import Web

pytestmark = pytest.mark.once

PAGE = "docs/operations/metrics-and-alerts.md"


@pytest.fixture
def _at_home(database_url: str, any_broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_at_home")
def test_its_commands_answer_and_its_token_reads_the_numbers(
    web: Web, capsys: pytest.CaptureFixture[str]
) -> None:
    token, *others = commands(PAGE)

    assert (token[:2], run(token)) == (["token", "create"], 0)
    [secret] = [
        word for word in capsys.readouterr().out.split() if word.startswith("rmd_") and len(word) > 20
    ]
    asked = web.nobody().get("/metrics", headers={"Authorization": f"Bearer {secret}"})
    assert (asked.status_code, "remand_queue_workers" in asked.text) == (200, True)

    told = {" ".join(line): run(line) for line in others}
    # No worker runs here: doctor says so.
    assert {line: code for line, code in told.items() if code} == {"doctor": 1}
    assert len(told) > 10
