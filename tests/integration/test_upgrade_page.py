"""The commands of `docs/operations/upgrade.md`, as they stand there, on a database that has nothing yet."""

from __future__ import annotations

from pathlib import Path

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.store import schema
from remand_app.store.database import Database
from tests.support.pages import commands

pytestmark = pytest.mark.once

PAGE = "docs/operations/upgrade.md"


def test_its_commands_migrate_look_and_change_nothing_when_dry(
    empty_database_url: str, any_broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", empty_database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.chdir(tmp_path)
    database = Database(empty_database_url)
    told = commands(PAGE)
    assert [line[0] for line in told] == ["migrate", "migrate", "doctor", "migrate"]
    try:
        assert run(told[0]) == 0
        assert schema.current(database) is None
        assert run(told[1]) == 0
        assert schema.current(database) == schema.head()
        assert run(told[2]) == 1  # no worker runs here: doctor says so
        assert run(told[3]) == 0
        assert schema.current(database) == schema.head()
    finally:
        database.dispose()
