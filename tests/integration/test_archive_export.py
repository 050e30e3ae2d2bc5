"""Periods of the archive are written to files, and dropped only when they are safe. Source: D5."""

from __future__ import annotations

import gzip
import hashlib
import json
import stat
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.errors import Busy, InputInvalid, NotExported, PeriodNotFound, WorkflowNotFound
from remand_app.engine import archive_export as exporting
from remand_app.engine.archive import run
from remand_app.engine.archive_export import drop, export, unexported
from remand_app.engine.archive_restore import restore
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.resources.archive import periods
from remand_app.store import archive_files, archive_moves, archive_periods
from remand_app.store import archive_runs as books
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at
from remand_app.store.workflows import get_workflow
from tests.integration.test_archive import DUE, MAY, WHO, ended, in_may, rows, submitted
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, always, shape

NAME = "2026_05"


@pytest.fixture
def archived(fresh_database: Database) -> Harness:
    """A month in the archive: two that went well, one that failed for good."""
    harness = in_may(fresh_database)
    ended(harness, 2)
    harness.publish(shape("given_up", CHAIN, dead_letters={"strategy": "disabled"}))
    harness.play(b=always(PermanentError('no\n"quoted" \\ \N{SNOWMAN}')))
    submitted(harness, 1, "t/given_up")
    harness.run_until_quiet()
    harness.clock.now = DUE
    assert run(harness.engine).workflows == 3
    return harness


def read(path: Path) -> list[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_files_are_their_owners_alone_whatever_the_umask(
    archived: Harness, tmp_path: Path, no_umask: None
) -> None:
    export(archived.engine, NAME, tmp_path / "made" / "for it", WHO)

    place = tmp_path / "made" / "for it" / NAME
    modes = {one: stat.S_IMODE(one.stat().st_mode) for one in (place, *place.iterdir())}
    assert modes == {one: 0o700 if one == place else 0o600 for one in modes}
    assert len(modes) > 5
    assert not stat.S_IMODE(place.parent.stat().st_mode) & 0o022


def test_files_hold_every_row_and_the_manifest_says_so(archived: Harness, tmp_path: Path) -> None:
    assert unexported(archived.engine) == [NAME]

    done = export(archived.engine, NAME, tmp_path, WHO)

    place = tmp_path / NAME
    assert [one.name for one in tmp_path.iterdir()] == [NAME]
    manifest = json.loads((place / "manifest.json").read_text())
    counts = rows(archived.database, "_archive")
    assert counts[2] == 1
    assert [one["rows"] for one in manifest["files"]] == counts == [one.rows for one in done.files]
    for one in manifest["files"]:
        data = (place / one["name"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (one["bytes"], one["sha256"])
        assert len(read(place / one["name"])) == one["rows"]
    assert (manifest["period"], manifest["starts_at"]) == (NAME, MAY.starts_at.isoformat())
    workflows = read(place / "workflows.jsonl.gz")
    kept = archived.database.call("select id::text, state from remand.workflows_archive order by id")
    assert [(one["id"], one["state"]) for one in workflows] == kept
    [attempt] = read(place / "attempts.jsonl.gz")
    assert attempt["failure"]["message"] == 'no\n"quoted" \\ \N{SNOWMAN}'
    [noted] = books.runs(archived.database, limit=1)
    assert (noted.kind, noted.place, noted.workflows) == ("export", str(place), 3)
    assert unexported(archived.engine) == []


def test_the_lines_can_be_put_back_as_they_are(archived: Harness, tmp_path: Path) -> None:
    export(archived.engine, NAME, tmp_path, WHO)
    before = archive_moves.sums(archived.database, archive_periods.live_tables(NAME))
    archived.database.call("delete from remand.steps_archive")

    for line in read(tmp_path / NAME / "steps.jsonl.gz"):
        archived.database.call(
            "insert into remand.steps_archive select * from"
            " jsonb_populate_record(null::remand.steps_archive, %s::text::jsonb)",
            (json.dumps(line),),
        )

    assert archive_moves.sums(archived.database, archive_periods.live_tables(NAME)) == before


def test_a_second_export_does_not_overwrite_the_first(archived: Harness, tmp_path: Path) -> None:
    export(archived.engine, NAME, tmp_path, WHO)
    before = (tmp_path / NAME / "manifest.json").read_bytes()

    with pytest.raises(InputInvalid, match="is there already"):
        export(archived.engine, NAME, tmp_path, WHO)

    assert (tmp_path / NAME / "manifest.json").read_bytes() == before


def test_an_export_that_dies_leaves_no_directory_of_that_name(
    archived: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(exporting, "_finish", full)
        with pytest.raises(InputInvalid, match="No space left"):
            export(archived.engine, NAME, tmp_path, WHO)

    assert list(tmp_path.iterdir()) == []
    assert unexported(archived.engine) == [NAME]


def test_of_two_exports_at_once_one_is_whole_and_the_other_takes_nothing_from_it(
    archived: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, others = exporting._finish, [True]

    def meanwhile(*arguments: Any) -> None:
        if others:
            others.clear()
            export(archived.engine, NAME, tmp_path, WHO)
        finish(*arguments)

    monkeypatch.setattr(exporting, "_finish", meanwhile)
    with pytest.raises(InputInvalid):
        export(archived.engine, NAME, tmp_path, WHO)

    assert [one.name for one in tmp_path.iterdir()] == [NAME]
    manifest = json.loads((tmp_path / NAME / "manifest.json").read_text())
    assert [len(read(tmp_path / NAME / one["name"])) for one in manifest["files"]] == rows(
        archived.database, "_archive"
    )
    assert len([one for one in books.runs(archived.database, limit=9) if one.kind == "export"]) == 1


def test_what_arrives_while_files_are_written_counts_as_not_exported(
    fresh_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = in_may(fresh_database)
    ended(harness, 1)
    [late] = submitted(harness, 1)
    harness.clock.now = DUE
    run(harness.engine)
    finish = exporting._finish

    def meanwhile(*arguments: Any) -> None:
        harness.run_until_quiet()
        harness.clock.advance(40 * 86_400)
        assert run(harness.engine).workflows == 1
        harness.clock.advance(1)
        finish(*arguments)

    monkeypatch.setattr(exporting, "_finish", meanwhile)
    export(harness.engine, NAME, tmp_path, WHO)

    assert get_workflow(harness.database, late).is_archived
    assert unexported(harness.engine) == [NAME]


def test_what_is_not_exported_as_it_stands_is_not_dropped(archived: Harness, tmp_path: Path) -> None:
    with pytest.raises(NotExported, match="was not exported"):
        drop(archived.engine, NAME, WHO)
    export(archived.engine, NAME, tmp_path, WHO)
    [one] = archived.database.call("select id from remand.workflows_archive limit 1")[0]
    restore(archived.engine, [one], WHO)

    with pytest.raises(NotExported, match="has changed since"):
        drop(archived.engine, NAME, WHO)

    assert rows(archived.database, "_archive")[0] == 2


def test_what_is_exported_is_dropped_with_its_identities(fresh_database: Database, tmp_path: Path) -> None:
    harness = in_may(fresh_database)
    harness.publish(shape("once", CHAIN, identity="caller_provided"))
    harness.play()
    old = UUID(int=first_id_at(harness.clock.now).int + 7)
    submit(harness.engine, "t/once", SubmitRequest({}, key="order-1", id=old), by="test")
    harness.run_until_quiet()
    harness.clock.now = DUE
    run(harness.engine)
    export(harness.engine, NAME, tmp_path, WHO)
    again = submit(harness.engine, "t/once", SubmitRequest({}, key="order-1"), by="test")
    assert (again.workflow_id, again.created) == (old, False)

    dropped = drop(harness.engine, NAME, WHO)

    assert (dropped.workflows, dropped.why) == (1, "exported")
    assert archive_periods.listed(harness.database) == []
    with pytest.raises(WorkflowNotFound):
        get_workflow(harness.database, old)
    [one] = periods(harness.database)
    assert (one.workflows, one.dropped) == (0, 1)
    [audited] = harness.database.call('select verb, subject, "by" from remand.audit_log')
    assert audited == ("archive.drop", NAME, "ann")
    with pytest.raises(PeriodNotFound):
        drop(harness.engine, NAME, WHO)
    anew = submit(harness.engine, "t/once", SubmitRequest({}, key="order-1"), by="test")
    assert anew.created
    harness.run_until_quiet()


def test_a_period_that_changes_while_it_is_dropped_stays_with_its_identities(
    fresh_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = in_may(fresh_database)
    harness.publish(shape("once", CHAIN, identity="caller_provided"))
    harness.play()
    old = [UUID(int=first_id_at(harness.clock.now).int + n) for n in (7, 8)]
    for one in old:
        submit(harness.engine, "t/once", SubmitRequest({}, key=f"order-{one}", id=one), by="test")
    harness.run_until_quiet()
    harness.clock.now = DUE
    run(harness.engine)
    export(harness.engine, NAME, tmp_path, WHO)
    drop_tables = archive_files.drop

    def meanwhile(*arguments: Any) -> bool:
        restore(harness.engine, old[:1], WHO)
        return drop_tables(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(archive_files, "drop", meanwhile)
        with pytest.raises(Busy, match="changed meanwhile"):
            drop(harness.engine, NAME, WHO)

    assert rows(harness.database, "_archive")[0] == 1
    for one in old:
        again = submit(harness.engine, "t/once", SubmitRequest({}, key=f"order-{one}"), by="test")
        assert (again.workflow_id, again.created) == (one, False)


def test_what_belongs_to_no_period_is_exported_and_dropped_too(
    fresh_database: Database, tmp_path: Path
) -> None:
    harness = in_may(fresh_database)
    harness.clock.now = MAY.starts_at.replace(year=2024)
    ended(harness, 2)
    harness.clock.now = DUE
    run(harness.engine)

    export(harness.engine, "default", tmp_path, WHO)
    dropped = drop(harness.engine, "default", WHO)

    assert dropped.workflows == 2
    assert rows(harness.database, "_archive") == [0, 0, 0, 0]
    assert len(read(tmp_path / "default" / "workflows.jsonl.gz")) == 2
