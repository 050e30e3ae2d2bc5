"""The commands of `docs/operations/archive-and-restore.md`, as they stand there."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.domain.partitions import Interval, whole_period
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.store import archive_periods, new_periods
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at
from remand_app.store.new_periods import Made, Patience
from remand_app.store.workflows import get_workflow
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.pages import commands
from tests.support.shapes import CHAIN, shape

pytestmark = pytest.mark.once

PAGE = "docs/operations/archive-and-restore.md"
MONTHS = [datetime(2024, month, 10, 12, tzinfo=UTC) for month in (5, 6)]


def finished(database: Database, at: datetime) -> list[UUID]:
    """Two workflows that ended in a month of their own partition."""
    month = whole_period(Interval.MONTHLY, at)
    assert isinstance(new_periods.make_period(database, month, datetime.now(UTC), Patience()), Made)
    harness = Harness(database, FakeClock(at))
    harness.publish(shape("chain", CHAIN))
    harness.play()
    ids = [UUID(int=first_id_at(at).int + uuid.uuid4().int % 2**60) for _ in range(2)]
    for one in ids:
        submit(harness.engine, "t/chain", SubmitRequest({}, id=one), by="test")
    harness.run_until_quiet()
    return ids


def test_its_commands_archive_restore_export_and_drop(
    fresh_database: Database,
    fresh_database_url: str,
    any_broker_url: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    may, june = (finished(fresh_database, at) for at in MONTHS)
    monkeypatch.setenv("REMAND_DATABASE_URL", fresh_database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.setenv("REMAND_ARCHIVE__HOLD_SECONDS", "5")
    monkeypatch.chdir(tmp_path)
    told = commands(PAGE)
    assert [line[1] for line in told] == ["status", "run", "run", "restore", "restore", "export", "drop"]
    said = {"018f6270-8000": str(may[0]), "/backup/remand": str(tmp_path / "backup")}

    for number, line in enumerate(told):
        assert run([said.get(word, word) for word in line]) == 0, line
        if number == 2:
            assert {one.name for one in archive_periods.listed(fresh_database)} == {"2024_05", "2024_06"}
            assert all(get_workflow(fresh_database, one).is_archived for one in (*may, *june))

    assert not any(get_workflow(fresh_database, one).is_archived for one in may)
    assert archive_periods.listed(fresh_database) == []
    assert (tmp_path / "backup" / "2024_06" / "manifest.json").exists()
