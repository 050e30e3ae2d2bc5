"""`remand retention`, and what `docs/operations/retention.md` says to type. Source: D6."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand.errors import PermanentError
from remand_app.cli.invoke import run
from remand_app.config.retention import RetentionSettings
from remand_app.domain.states import DeadLetterStatus
from remand_app.engine.operate import Who, give_up_letter
from remand_app.engine.sweeps import prune as sweep_module
from remand_app.engine.sweeps.prune import prune
from remand_app.store.pruning import PRUNED
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.pages import ROOT, code, commands
from tests.support.shapes import always, shape

pytestmark = pytest.mark.once

PAGE = "docs/operations/retention.md"
TEXT = (ROOT / PAGE).read_text()
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def clock() -> FakeClock:
    """Half a year and more before now: the command line reads Postgres' clock."""
    return FakeClock(datetime.now(UTC) - timedelta(days=200))


@pytest.fixture
def ask(
    database_url: str,
    any_broker_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Ask:
    """Run `remand retention --json`, with some settings; return what it answers of each table."""
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.chdir(tmp_path)

    def answer(settings: str = "") -> dict[str, Any]:
        (tmp_path / "remand.toml").write_text(settings)
        capsys.readouterr()
        assert run(["retention", "--json"]) == 0
        return {one["table"]: one for one in json.loads(capsys.readouterr().out.splitlines()[-1])["items"]}

    return answer


@pytest.fixture
def harness(harness: Harness) -> Harness:
    """Two letters of half a year ago: one was closed then, the other is open."""
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", range(2))
    harness.run_until_quiet()
    [(letter,)] = harness.database.call("select id from remand.dead_letters order by id limit 1")
    give_up_letter(harness.engine, letter, Who("ann"))
    return harness


def test_it_says_of_every_table_how_long_it_is_kept(ask: Ask) -> None:
    told = ask()

    assert list(told) == [one.name for one in PRUNED]
    assert {one["setting"] for one in told.values()} - {None} == set(RetentionSettings.model_fields)
    assert told["dead_letters"]["days"] == RetentionSettings().letters_days


def test_the_settings_of_the_page_delete_what_it_says(ask: Ask, harness: Harness) -> None:
    assert ask()["dead_letters"]["due"] == 0
    [settings] = code(PAGE, "toml")

    told = ask(settings)

    assert told["dead_letters"]["due"] == 1
    assert told["audit_log"]["days"] is None
    assert told["audit_log"]["due"] == 0
    clock = FakeClock(datetime.now(UTC))
    later = Harness(harness.database, clock=clock, settings=settings_for(**tomllib.loads(settings)))
    assert prune(later.engine).rows["dead_letters"] == told["dead_letters"]["due"]
    left = harness.database.call("select status from remand.dead_letters")
    assert left == [(DeadLetterStatus.PENDING,)]


def test_its_commands_change_nothing(
    ask: Ask, harness: Harness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands(PAGE) == [["retention"], ["sweeps"]]
    assert [run(line) for line in commands(PAGE)] == [0, 0]
    assert "retention.letters_days" in capsys.readouterr().out
    [(name, value)] = re.findall(r"^\$ (REMAND_\w+)=(\d+) remand retention$", TEXT, re.MULTILINE)
    monkeypatch.setenv(name, value)

    assert ask()["audit_log"]["days"] == int(value)
    assert harness.database.call("select count(*) from remand.dead_letters") == [(2,)]


def test_its_figures_are_those_of_the_sweep() -> None:
    assert sweep_module.BATCH == 1000
    assert "in batches of 1 000" in TEXT
