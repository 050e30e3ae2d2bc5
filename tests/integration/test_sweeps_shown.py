"""How the sweeps stand: what the doors show of it, and when somebody has to look."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import pytest

from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.domain.access import Role
from remand_app.engine import readiness
from remand_app.engine.engine import Engine
from remand_app.engine.sweeps.runs import NOTE_SECONDS, SweepRuns
from remand_app.engine.sweeps.status import INTERVALS, SLACK_SECONDS, SweepState, SweepStatus, sweeps
from remand_app.store.ids import new_id
from tests.support.clock import FakeClock
from tests.support.engine import Harness
from tests.support.web import Web

pytestmark = pytest.mark.once


def swept(engine: Engine, name: str = "ring", *, moved: int = 0, error: Exception | None = None) -> None:
    """Run a sweep once in a process that has just started, so that it is noted at once."""

    def sweep(_: Engine) -> int:
        if error is not None:
            raise error
        return moved

    with nullcontext() if error is None else pytest.raises(type(error)):
        SweepRuns(engine, new_id()).run(name, sweep)


def standing_of(engine: Engine, name: str = "ring") -> SweepStatus:
    return next(one for one in sweeps(engine) if one.name == name)


def test_every_sweep_of_the_schedule_is_listed_whether_it_ran_or_not(harness: Harness) -> None:
    swept(harness.engine, moved=2)
    found = sweeps(harness.engine)

    assert [one.name for one in found] == list(BEAT_SCHEDULE)
    assert {one.name for one in found if one.state is SweepState.WELL} == {"ring"}
    assert {one.state for one in found if one.name != "ring"} == {SweepState.NEVER}
    assert found[0].interval_seconds == harness.settings.interval_seconds("ring")
    assert found[0].age_seconds == pytest.approx(0, abs=1)


def test_it_is_overdue_after_three_intervals_and_the_slack(harness: Harness) -> None:
    swept(harness.engine, "requeue")
    limit = INTERVALS * harness.settings.interval_seconds("requeue") + SLACK_SECONDS
    harness.clock.advance(limit - 1)
    assert standing_of(harness.engine, "requeue").state is SweepState.WELL
    assert standing_of(harness.engine, "requeue").age_seconds == pytest.approx(limit - 1, abs=1)

    harness.clock.advance(2)
    found = standing_of(harness.engine, "requeue")
    assert (found.state, found.is_well) == (SweepState.OVERDUE, False)


def test_one_that_fails_is_failing_and_then_overdue_too(harness: Harness) -> None:
    swept(harness.engine)
    swept(harness.engine, error=ValueError("broken"))
    found = standing_of(harness.engine)
    assert (found.state, found.is_overdue, found.is_well) == (SweepState.FAILING, False, False)

    harness.clock.advance(3600)
    swept(harness.engine, error=ValueError("broken"))
    found = standing_of(harness.engine)
    assert (found.state, found.is_overdue) == (SweepState.FAILING, True)


def test_one_that_never_ran_is_overdue_once_somebody_has_listened_long_enough(harness: Harness) -> None:
    """Beat is of an older version, or not there."""
    harness.new_worker("steps")
    harness.advance(3600)
    assert standing_of(harness.engine).state is SweepState.NEVER

    harness.new_worker("remand.maintenance", hostname="m@test")
    assert standing_of(harness.engine).state is SweepState.NEVER

    harness.database.call("update remand.workers set started_at = started_at - interval '1 hour'")
    assert standing_of(harness.engine).state is SweepState.OVERDUE


def test_the_service_is_not_ready_while_the_ring_sweep_does_not_go_well(harness: Harness) -> None:
    def beat() -> readiness.Check:
        return next(one for one in readiness.checks(harness.engine) if one.name == "beat")

    assert (beat().ok, "no sweep is seen" in beat().message) == (False, True)
    swept(harness.engine)
    assert (beat().ok, "the last good sweep was" in beat().message) == (True, True)

    harness.clock.advance(readiness.sweep_patience(harness.engine) + 1)
    assert not beat().ok
    swept(harness.engine, error=ValueError("broken"))
    assert (beat().ok, beat().message.endswith("and it fails: ValueError: broken")) == (False, True)

    swept(harness.engine)
    assert beat().ok


def test_a_note_that_comes_late_does_not_make_the_service_unready(harness: Harness) -> None:
    assert readiness.sweep_patience(harness.engine) >= 5 + NOTE_SECONDS


def test_the_api_lists_them_for_who_may_see_queues(web: Web) -> None:
    swept(web.runtime.engine, moved=3)
    swept(web.runtime.engine, "expire", error=ValueError("postgresql://me:geheim@db/x"))

    answer = web.program("viewer").get("/api/v1/sweeps")
    assert answer.status_code == 200
    found = {one["name"]: one for one in answer.json()["items"]}
    assert list(found) == list(BEAT_SCHEDULE)
    assert (found["ring"]["state"], found["ring"]["last_moved"], found["ring"]["runs"]) == ("well", 3, 1)
    assert (found["expire"]["state"], found["expire"]["last_error"]) == ("failing", "ValueError")
    assert found["expire"]["failing_since"] is not None
    assert "geheim" not in answer.text
    assert web.nobody().get("/api/v1/sweeps").status_code == 401


def test_the_page_shows_what_fails_and_why(web: Web) -> None:
    swept(web.runtime.engine, moved=3)
    swept(web.runtime.engine, "expire", error=ValueError("<b>broken</b>"))

    page = web.browser(Role.VIEWER).get("/sweeps").text
    assert "failing" in page
    assert "ValueError" in page
    assert "&lt;b&gt;broken&lt;/b&gt;" in page
    assert all(f"<b>{name}</b>" in page for name in BEAT_SCHEDULE)


@pytest.fixture
def clock() -> FakeClock:
    """The command line reads Postgres' clock: the engine of these tests must live in the same time."""
    return FakeClock(datetime.now(UTC))


def test_the_command_lists_them(harness: Harness, command: Callable[..., str]) -> None:
    swept(harness.engine, moved=3)
    swept(harness.engine, "expire", error=ValueError("broken"))

    told: list[dict[str, Any]] = json.loads(command("sweeps", "--json"))["items"]
    assert [one["name"] for one in told] == list(BEAT_SCHEDULE)
    assert {one["name"]: one["state"] for one in told if one["state"] != "never_ran"} == {
        "ring": "well", "expire": "failing"
    }  # fmt: skip

    shown = command("sweeps")
    assert "never ran" in shown
    assert "expire has failed 1 time since" in shown
    assert "ValueError: broken" in shown


def test_the_doctor_tells_of_those_that_fail_or_are_overdue(
    harness: Harness, command: Callable[..., str]
) -> None:
    harness.new_worker("steps", "remand.maintenance", hostname="m@test")

    def findings() -> dict[str, dict[str, Any]]:
        found = json.loads(command("doctor", "--json", exits=1))["findings"]
        return {f"{one['subject']} {one['message'].split()[0]}": one for one in found}

    assert findings()["beat no"]["level"] == "fail"

    swept(harness.engine)
    assert findings()["beat the"]["level"] == "ok"
    assert any(one.startswith("sweeps ") for one in findings())

    swept(harness.engine, "expire", error=ValueError("broken"))
    harness.database.call(
        "insert into remand.sweep_runs (name, last_started_at, last_success_at, last_duration_seconds,"
        " worker) values ('requeue', now() - interval '1 day', now() - interval '1 day', 0, %s)",
        (new_id(),),
    )
    found = findings()
    assert "has failed 1 time in a row: ValueError" in found["sweep expire"]["message"]
    assert "went well 24 h ago" in found["sweep requeue"]["message"]
    assert not any(one.startswith("sweeps ") for one in found)

    swept(harness.engine, error=ValueError("broken"))
    assert findings()["beat the"]["level"] == "ok"
    harness.database.call("update remand.sweep_runs set last_success_at = now() - interval '1 hour'")
    ring = findings()["beat the"]
    assert (ring["level"], ring["todo"]) == ("fail", "remand sweeps")
    assert "it fails: ValueError: broken" in ring["message"]
