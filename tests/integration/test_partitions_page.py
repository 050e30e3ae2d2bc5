"""What `docs/operations/partitions.md` says to type, as it stands there, and what it says of every fault."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.domain import partition_check
from remand_app.engine.partitions import faults
from remand_app.engine.sweeps.partitions import partitions
from remand_app.store import partitions as stored
from remand_app.store.database import Database
from remand_app.store.new_periods import Patience
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.pages import ROOT, code, commands

pytestmark = pytest.mark.once

PAGE = "docs/operations/partitions.md"
TEXT = (ROOT / PAGE).read_text()
MARCH = datetime(2031, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def place(
    fresh_database_url: str, any_broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """Where the commands are typed."""
    monkeypatch.setenv("REMAND_DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(database: Database) -> list[str]:
    return [one.name for one in stored.periods(database)]


def test_its_commands_look_and_make_what_is_missing(place: Path, fresh_database: Database) -> None:
    last = names(fresh_database)[-1]
    for table in ("workflows", "steps", "attempts", "history"):
        fresh_database.call(f"drop table remand.{table}_{last}")
    told = commands(PAGE)
    assert [line[:2] for line in told] == [
        ["partitions", "list"],
        ["partitions", "check"],
        ["partitions", "create"],
        ["partitions", "create"],
    ]

    assert [run(line) for line in told] == [0, 0, 0, 0]
    assert names(fresh_database)[-1] == last


def test_its_settings_change_the_interval_while_the_system_runs(
    place: Path, fresh_database: Database
) -> None:
    before = names(fresh_database)
    [settings] = code(PAGE, "toml")
    (place / "remand.toml").write_text(settings)

    assert run(["partitions", "create"]) == 0
    assert run(["partitions", "check"]) == 0

    after = names(fresh_database)
    assert after[: len(before)] == before
    assert len(after) == 1 + 8
    assert all("_w" in name for name in after[len(before) :])


def test_it_tells_of_every_fault_that_is_found() -> None:
    source = Path(partition_check.__file__).read_text()
    codes = set(re.findall(r'Fault\(\s*"(\w+)"', source))
    table = TEXT.partition("| `check` says |")[2].partition("\n\n")[0]
    told = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}

    assert len(codes) > 10
    assert told == codes


def test_its_limits_are_those_of_the_sweep() -> None:
    patience = Patience()
    words = TEXT.replace("\n", " ")

    assert (patience.hold_seconds, patience.most_rows, stored.ATTEMPTS) == (1.0, 5_000, 5)
    assert stored.LOCK_TIMEOUT_SECONDS / 2 == 0.1
    assert "a run waits 0.1 s for a lock" in words
    assert "for one second at most, moves 5 000 rows at most" in words
    assert "It tries five times" in words


def test_its_statements_attach_a_table_anew(fresh_database: Database) -> None:
    harness = Harness(fresh_database, clock=FakeClock(MARCH))
    partitions(harness.engine)
    fresh_database.call(
        "alter table remand.steps detach partition remand.steps_2031_04;"
        "alter table remand.steps attach partition remand.steps_2031_04 for values"
        " from (remand.uuid7_floor('2031-04-02Z')) to (remand.uuid7_floor('2031-05-01Z'))"
    )
    assert "bounds_differ" in {one.code for one in faults(harness.engine)}
    [statements] = code(PAGE, "sql")

    fresh_database.call(statements)

    assert faults(harness.engine) == []


def test_what_check_prints_puts_a_table_right_that_is_attached_to_nothing(
    place: Path, fresh_database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    name = names(fresh_database)[1]
    fresh_database.call(f"alter table remand.history detach partition remand.history_{name}")
    capsys.readouterr()
    assert run(["partitions", "check", "--json"]) == 1
    [found] = json.loads(capsys.readouterr().out.splitlines()[-1])["findings"]
    assert found["subject"] == "detached"

    fresh_database.call(found["todo"])

    assert run(["partitions", "check"]) == 0


def test_what_check_prints_makes_a_default_partition_that_is_missing(
    place: Path, fresh_database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh_database.call("drop table remand.steps_default")
    capsys.readouterr()
    assert run(["partitions", "check", "--json"]) == 1
    [found] = json.loads(capsys.readouterr().out.splitlines()[-1])["findings"]
    assert found["subject"] == "default_missing"

    fresh_database.call(found["todo"])

    assert run(["partitions", "check"]) == 0
