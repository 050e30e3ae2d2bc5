"""How staleness is shown at every door, and whom it warns: once for each workflow. Source: D1, D2, D7."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from remand_app.domain.access import Role
from remand_app.domain.notifications import NotificationKind
from remand_app.domain.staleness import Health
from remand_app.engine import operate
from remand_app.engine.operate import Who
from remand_app.engine.staleness import shown
from remand_app.engine.sweeps.stale import StaleResult, stale
from remand_app.store.database import Database
from tests.integration.test_stale import DAY, HALF_HOUR, far
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.pages import commands
from tests.support.shapes import shape
from tests.support.web import Web

pytestmark = pytest.mark.once

PAGE = "docs/operations/staleness.md"
TARGET = {"name": "ops", "url": "https://hook.test/x", "kinds": list(NotificationKind)}


@pytest.fixture
def clock() -> FakeClock:
    """The command line and the view read Postgres' clock: the engine must live in the same time."""
    return FakeClock(datetime.now(UTC))


def scene(harness: Harness) -> tuple[UUID, UUID, UUID]:
    """A workflow that is stale, one that soon will be, and one that is well; it is now."""
    now = harness.clock.now
    harness.clock.advance(-HALF_HOUR - 1)
    first = far(harness)
    harness.clock.advance(300)
    second = harness.submit("t/far")
    harness.clock.now = now
    harness.worker.beat()
    harness.publish(shape("near", {"a": ()}))
    return first, second, harness.submit("t/near")


# warnings


def kinds(harness: Harness) -> list[tuple[str, str]]:
    rows = harness.database.call("select kind, subject_id from remand.notifications order by id")
    return [(kind, subject) for kind, subject in rows if kind.startswith("workflow")]


def noted(database: Database, **settings: Any) -> Harness:
    return Harness(database, settings=settings_for(notify={"targets": [TARGET]}, **settings))


def test_people_are_warned_once_before_it_is_stale(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    harness = noted(database)
    workflow = far(harness)
    harness.advance(HALF_HOUR * 0.75 - 1)
    assert stale(harness.engine) == StaleResult()
    harness.advance(1)
    capsys.readouterr()

    assert stale(harness.engine) == StaleResult(warned=1)

    told = capsys.readouterr()
    assert "workflow.stale_soon" in told.out + told.err
    assert stale(harness.engine) == StaleResult()
    assert kinds(harness) == [("workflow_stale_soon", str(workflow))]
    [(payload,)] = database.call("select payload from remand.notifications")
    assert "no live worker consumes its queue far" in payload["title"]
    harness.advance(HALF_HOUR)
    assert stale(harness.engine) == StaleResult(letters=1)


def test_what_stays_where_it_is_is_told_as_stale(database: Database) -> None:
    harness = noted(database, staleness={"stale_action": "none"})
    workflow = far(harness)
    harness.advance(HALF_HOUR)

    assert stale(harness.engine) == StaleResult(warned=1)

    assert kinds(harness) == [("workflow_stale", str(workflow))]
    assert stale(harness.engine) == StaleResult()


def test_an_end_in_error_is_told_as_stale(database: Database) -> None:
    harness = noted(database, staleness={"stale_action": "error"})
    workflow = far(harness)
    harness.advance(HALF_HOUR)

    assert stale(harness.engine) == StaleResult(errors=1)

    assert kinds(harness) == [("workflow_stale", str(workflow))]


def test_an_end_in_error_is_told_each_time_that_a_person_sent_it_back(database: Database) -> None:
    harness = noted(database, staleness={"stale_action": "error"})
    workflow = far(harness)
    harness.advance(HALF_HOUR)
    assert stale(harness.engine) == StaleResult(errors=1)

    operate.restart_from(harness.engine, workflow, "far", Who("ann"))
    harness.advance(HALF_HOUR)
    assert stale(harness.engine) == StaleResult(errors=1)

    assert kinds(harness) == [("workflow_stale", str(workflow))] * 2


def test_what_waits_its_turn_or_for_a_person_warns_nobody_before_its_lifetime(database: Database) -> None:
    harness = noted(database)
    harness.publish(shape("near", {"a": ()}))
    harness.submit("t/near")
    harness.worker.beat()
    harness.advance(HALF_HOUR * 4)
    assert stale(harness.engine) == StaleResult()
    harness.advance(DAY * 0.75 - HALF_HOUR * 4)

    assert stale(harness.engine) == StaleResult(warned=1)


# doors


def test_the_list_has_what_is_stale_first_then_what_soon_will_be(harness: Harness) -> None:
    first, second, third = scene(harness)

    found = shown(harness.engine, tuple(Health))

    assert [(one.workflow_id, one.health) for one in found.items] == [
        (first, Health.STALE),
        (second, Health.WARNING),
        (third, Health.HEALTHY),
    ]
    assert [one.workflow_id for one in shown(harness.engine).items] == [first, second]
    assert [one.workflow_id for one in shown(harness.engine, limit=1).items] == [first]


def test_the_view_says_the_same_from_the_first_sweep_on(
    harness_with: Callable[..., Harness], clock: FakeClock
) -> None:
    harness = harness_with(staleness={"enabled": False})
    view = (
        "select workflow_id, health, why, queue, takes_out from remand.v_staleness_monitoring"
        " order by stale_at"
    )
    first, second, third = scene(harness)
    assert harness.database.call(view) == []

    stale(harness.engine)

    assert harness.database.call(view) == [
        (first, "stale", "worker_unavailable", "far", True),
        (second, "warning", "worker_unavailable", "far", False),
        (third, "healthy", "waits_its_turn", "steps", False),
    ]


def test_the_api_lists_them(web: Web) -> None:
    harness = Harness(web.runtime.engine.database, FakeClock(datetime.now(UTC)))
    first, second, third = scene(harness)

    def listed(**query: Any) -> list[str]:
        answer = web.program("viewer").get("/api/v1/dlq/staleness", params=query)
        assert answer.status_code == 200
        return [one["workflow_id"] for one in answer.json()["items"]]

    assert listed() == [str(first), str(second)]
    assert listed(health="healthy") == [str(third)]
    assert listed(limit=1) == [str(first)]
    assert web.program("viewer").get("/api/v1/dlq/staleness", params={"health": "ill"}).status_code == 422
    assert web.nobody().get("/api/v1/dlq/staleness").status_code == 401


def test_the_page_shows_them(web: Web) -> None:
    harness = Harness(web.runtime.engine.database, FakeClock(datetime.now(UTC)))
    assert "Nothing is under way" in web.browser(Role.VIEWER).get("/staleness").text
    found = scene(harness)

    page = web.browser(Role.VIEWER).get("/staleness").text

    assert all(f"/workflows/{one}" in page for one in found)
    assert all(f">{health}</span>" in page for health in Health)
    assert "worker unavailable" in page
    assert "in far" in page


def test_the_commands_of_the_page_show_try_and_do(harness: Harness, command: Callable[..., str]) -> None:
    first, second, third = scene(harness)
    told = commands(PAGE)
    assert [" ".join(line) for line in told] == ["stale --list", "stale --dry-run", "stale", "dlq list"]

    listed = json.loads(command(*told[0], "--json"))["items"]
    assert [one["workflow_id"] for one in listed] == [str(first), str(second), str(third)]
    shown_to_people = command(*told[0])
    assert all(word in shown_to_people for word in ("stale", "warning", "healthy", "far"))
    would = json.loads(command(*told[1], "--json"))["items"]
    assert [(one["workflow_id"], one["action"]) for one in would] == [(str(first), "dlq")]
    assert not harness.letters(first)
    assert json.loads(command(*told[2], "--json").splitlines()[-1])["letters"] == 1
    assert command(*told[1]).strip() == "nothing is stale"
    assert "WorkerUnavailable" in command(*told[3])
    assert harness.open_letter(first)
