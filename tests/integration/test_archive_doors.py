"""An archived workflow as the command line, the API and the dashboard show it: read-only, and marked."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from remand_app.cli.invoke import run
from remand_app.domain.access import Role
from remand_app.domain.partitions import Interval, whole_period
from remand_app.engine.archive import run as archive
from remand_app.engine.archive_restore import restore
from remand_app.engine.operate import Who
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at
from remand_app.store.new_periods import Made, Patience, make_period
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, shape
from tests.support.web import Web

pytestmark = pytest.mark.once

LONG_AGO = datetime(2024, 5, 10, 12, tzinfo=UTC)


def old_workflow(harness: Harness) -> UUID:
    """Return a workflow that ended long ago, in the default partition: no period is that old."""
    harness.publish(shape("chain", CHAIN))
    harness.play()
    one = UUID(int=first_id_at(LONG_AGO).int + uuid.uuid4().int % 2**60)
    submit(harness.engine, "t/chain", SubmitRequest({"n": 1}, id=one), by="test")
    harness.run_until_quiet()
    return one


@pytest.fixture
def command(command: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run `remand … --json` and return what it answers."""
    monkeypatch.setenv("REMAND_USER", "ann")

    def ask(*words: object, exits: int = 0) -> Any:
        told = command(*(str(word) for word in (*words, "--json")), exits=exits)
        # What the engine logs comes before it: these tests configure no logging.
        return json.JSONDecoder().raw_decode(_document(told))[0]

    return ask


def _document(out: str) -> str:
    lines = out.splitlines(keepends=True)
    begin = next(n for n, line in enumerate(lines) if line.startswith(("{", "[")))
    return "".join(lines[begin:])


def test_a_period_that_could_not_be_taken_is_named_with_the_reason(
    fresh_database: Database, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", fresh_database.url)
    monkeypatch.setenv("REMAND_ARCHIVE__HOLD_SECONDS", "0.1")
    period = whole_period(Interval.MONTHLY, LONG_AGO)
    assert isinstance(make_period(fresh_database, period, datetime.now(UTC), Patience()), Made)
    one = old_workflow(Harness(fresh_database, FakeClock(LONG_AGO)))

    with fresh_database.begin() as others:
        others.exec_driver_sql("select 1 from remand.workflows limit 1")
        late = command("archive", "run", exits=1)

    assert (late["deferred"], late["workflows"], late["is_finished"]) == ({period.name: "late"}, 0, True)
    assert "is_dry" not in late
    taken = command("archive", "run")
    assert (taken["deferred"], taken["workflows"]) == ({}, 1)
    assert command("workflow", "show", one)["is_archived"]


def test_the_command_line_archives_shows_refuses_and_restores(
    database: Database, command: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    one = old_workflow(Harness(database, FakeClock(LONG_AGO)))
    before = command("workflow", "history", one)

    [planned] = command("archive", "run", "--dry-run")["planned"]
    assert (planned["period"], planned["way"], planned["go"]) == ("default", "batch", 1)
    assert command("archive", "run")["workflows"] == 1
    shown = command("workflow", "show", str(one)[:20])
    assert (shown["id"], shown["state"], shown["is_archived"]) == (str(one), "complete", True)
    assert [step["state"] for step in shown["steps"]] == ["complete"] * 4
    assert command("workflow", "history", one) == before
    assert command("workflow", "wait", one)["state"] == "complete"
    assert command("step", "show", one, "b")["attempts"][0]["outcome"] == "complete"
    refused = command("workflow", "cancel", one, exits=5)["error"]
    assert (refused["code"], f"remand archive restore {one}" in refused["hint"]) == (
        "WORKFLOW_ARCHIVED",
        True,
    )
    status = command("archive", "status")
    assert (status["periods"][0]["workflows"], status["runs"][0]["by"]) == (1, "ann")
    assert run(["workflow", "show", str(one)]) == 0
    assert "read-only" in capsys.readouterr().out

    assert command("archive", "restore", one)["workflows"] == 1
    assert command("workflow", "show", one)["is_archived"] is False
    assert command("archive", "restore", one, exits=5)["error"]["code"] == "ILLEGAL_MOVE"
    assert (
        command("archive", "restore", "--period", "1999_01", exits=4)["error"]["code"] == "PERIOD_NOT_FOUND"
    )
    assert run(["archive", "restore"]) == 2


def test_the_archive_is_told_to_people(
    database: Database, command: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["archive", "status"]) == 0
    assert "nothing was archived yet" in capsys.readouterr().out
    assert run(["archive", "run", "--dry-run"]) == 0
    assert "nothing is due" in capsys.readouterr().out
    one = old_workflow(Harness(database, FakeClock(LONG_AGO)))
    assert run(["archive", "run", "--dry-run"]) == 0
    assert "goes in batches" in capsys.readouterr().out
    assert run(["archive", "run"]) == 0
    assert "1 workflow archived" in capsys.readouterr().out
    assert run(["archive", "status"]) == 0
    assert "default" in capsys.readouterr().out
    assert run(["archive", "restore", str(one)]) == 0
    assert "1 workflow came back" in capsys.readouterr().out


def test_the_api_shows_it_marked_and_refuses_to_change_it(web: Web) -> None:
    web.clock.now = LONG_AGO
    harness = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    one = old_workflow(harness)
    web.clock.advance(days=60)
    archive(harness.engine)
    client = web.program("operator", "ann")

    shown = client.get(f"/api/v1/workflows/{one}").json()
    refused = client.patch(f"/api/v1/workflows/{one}", json={"action": "cancel"})

    assert (shown["is_archived"], shown["state"], len(shown["steps"])) == (True, "complete", 4)
    assert len(client.get(f"/api/v1/workflows/{one}/history").json()["items"]) > 4
    [held] = client.get("/api/v1/archive").json()["items"]
    first = client.get("/api/v1/archive/runs?limit=1").json()
    [moved] = first["items"]
    assert first["next"] is None
    assert (held["period"], held["workflows"], held["steps"], held["verified"]) == ("default", 1, 4, True)
    assert (moved["kind"], moved["path"], moved["workflows"], moved["by"]) == (
        "archive",
        "batch",
        1,
        "archive",
    )
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "WORKFLOW_ARCHIVED"


def test_the_dashboard_shows_it_marked_and_offers_no_verb(web: Web) -> None:
    web.clock.now = LONG_AGO
    harness = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    one = old_workflow(harness)
    browser = web.browser(Role.OPERATOR)
    live = browser.get(f"/workflows/{one}?step=b").text
    web.clock.advance(days=60)
    archive(harness.engine)

    browser = web.browser(Role.OPERATOR)
    page = browser.get(f"/workflows/{one}?step=b")

    listed = browser.get("/archive").text
    assert "in batches" in listed
    assert "<b>default</b>" in listed
    assert page.status_code == 200
    assert f"remand archive restore {one}" in page.text
    assert "Archived:" not in live
    assert f"/workflows/{one}/restart" not in page.text
    assert browser.get(f"/workflows?q={str(one)[:20]}", follow_redirects=True).text.count(str(one)) > 0


def test_the_api_lists_what_was_moved_by_pages(web: Web) -> None:
    web.clock.now = LONG_AGO
    harness = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    one = old_workflow(harness)
    for _ in range(2):
        web.clock.advance(days=60)
        archive(harness.engine)
        restore(harness.engine, [one], Who("ann", "audit asks"))
    client = web.program("viewer", "ann")

    kinds, after = [], ""
    while after is not None:
        page = client.get(f"/api/v1/archive/runs?limit=3{after and f'&cursor={after}'}").json()
        kinds += [one["kind"] for one in page["items"]]
        after = page["next"]

    assert kinds == ["restore", "archive", "restore", "archive"]
    assert client.get("/api/v1/archive/runs?cursor=none").json()["error"]["code"] == "INPUT_INVALID"
