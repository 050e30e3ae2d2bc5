from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from remand.errors import PermanentError
from remand_app.domain.notifications import NotificationKind
from remand_app.engine.operate import Who, groups
from remand_app.engine.operate.breakers import close_breaker, open_breaker
from remand_app.engine.sweeps.expire import expire
from remand_app.engine.sweeps.notify import tell_failing, tell_growth
from remand_app.store import group_counts, group_search
from remand_app.store.database import Database
from tests.support.engine import Harness, settings_for
from tests.support.invariants import check_invariants
from tests.support.shapes import shape

ONE = shape("one", {"a": ()}, retry={"max_attempts": 1})
CODE_SAYS = "card 4111 of grace was refused"


def told(database: Database) -> list[dict[str, Any]]:
    found = database.call(
        "select kind, subject_id, occurrence, payload from remand.notifications order by created_at, id"
    )
    return [dict(zip(("kind", "subject_id", "occurrence", "payload"), row, strict=True)) for row in found]


def kinds(database: Database) -> list[str]:
    return [one["kind"] for one in told(database)]


@pytest.fixture
def harness(database: Database) -> Harness:
    return harness_with(database)


def harness_with(database: Database, *more: NotificationKind, **settings: Any) -> Harness:
    wanted = [kind for kind in NotificationKind if kind is not NotificationKind.DEAD_LETTER_OPENED]
    target = {"name": "ops", "url": "https://hook.test/x", "kinds": [*wanted, *more]}
    made = Harness(database, settings=settings_for(notify={"targets": [target]}, **settings))
    made.publish(ONE)
    return made


def fails(message: str = CODE_SAYS) -> Callable[[Any], None]:
    def part(_: Any) -> None:
        raise PermanentError(message)

    return part


def fail(harness: Harness, count: int = 1, message: str = CODE_SAYS) -> None:
    harness.play(a=fails(message))
    for number in range(count):
        harness.submit("t/one", {"card": 4111, "number": number})
    harness.run_until_quiet()


def test_the_first_letter_of_a_cause_is_told_and_no_other(harness: Harness, database: Database) -> None:
    fail(harness, 3)
    group_counts.fold(database)
    fail(harness, 2)

    [notice] = told(database)
    group = group_search.list_page(database).items[0]
    assert notice["kind"] == "group_opened"
    assert notice["subject_id"] == str(group.id)
    assert notice["payload"]["facts"] == {
        "template": group.ref,
        "step": "a",
        "error": group.error_class,
        "category": "permanent",
        "reason": "permanent_failure",
        "dead_letter_id": notice["payload"]["facts"]["dead_letter_id"],
    }
    check_invariants(database)


def test_nothing_that_code_or_input_say_is_told(harness: Harness, database: Database) -> None:
    fail(harness)

    assert "4111" not in json.dumps(told(database))
    assert "grace" not in json.dumps(told(database))


def test_without_a_target_a_storm_stores_nothing(database: Database) -> None:
    harness = Harness(database)
    harness.publish(ONE)
    fail(harness, 3)

    assert told(database) == []


def test_every_letter_is_told_to_who_asks_for_that(database: Database) -> None:
    harness = harness_with(database, NotificationKind.DEAD_LETTER_OPENED)
    fail(harness, 3)

    assert sorted(kinds(database)) == ["dead_letter_opened"] * 3 + ["group_opened"]


def test_a_cause_that_comes_back_is_told_each_time(harness: Harness, database: Database) -> None:
    fail(harness)
    for _ in range(2):
        [group] = group_search.list_page(database).items
        for letter in database.call("select workflow_id from remand.dead_letters where status = 'pending'"):
            harness.database.call("select 1")
            from remand_app.engine.operate import cancel

            cancel(harness.engine, letter[0], Who("grace", "over"))
        groups.resolve_group(harness.engine, group.id, Who("grace", "their key was renewed"))
        harness.advance(60)
        fail(harness)

    back = [one for one in told(database) if one["kind"] == "group_reopened"]
    assert [one["occurrence"] for one in back] == ["1", "2"]
    assert back[0]["payload"]["facts"]["resolved_by"] == "grace"
    assert "key was renewed" not in json.dumps(back)
    assert kinds(database).count("group_opened") == 1
    check_invariants(database)


def test_a_group_is_told_again_at_each_power_of_ten(harness: Harness, database: Database) -> None:
    fail(harness, 9)
    assert tell_growth(harness.engine) == 0
    fail(harness)
    assert tell_growth(harness.engine) == 1
    fail(harness, 30)
    assert tell_growth(harness.engine) == 0
    fail(harness, 60)
    assert tell_growth(harness.engine) == 1

    grown = [one for one in told(database) if one["kind"] == "group_grew"]
    assert [one["payload"]["facts"]["open_letters"] for one in grown] == [10, 100]
    assert [one["occurrence"] for one in grown] == ["0:10", "0:100"]


def test_a_letter_that_a_sweep_opens_is_told(harness: Harness, database: Database) -> None:
    harness.submit("t/one", None, expires_in=60.0) if False else None
    harness.publish(shape("slow", {"a": ()}, expire_after_seconds=60))
    harness.submit("t/slow", None)
    harness.advance(120)

    assert expire(harness.engine) == 1
    [notice] = told(database)
    assert notice["kind"] == "group_opened"
    assert notice["payload"]["facts"]["reason"] == "expired"


def test_a_breaker_that_opens_is_told_without_a_persons_words(harness: Harness, database: Database) -> None:
    fail(harness)
    open_breaker(harness.engine, "api", by="grace", reason="I saw the invoice of ada")
    open_breaker(harness.engine, "api", by="grace", reason="once more")
    close_breaker(harness.engine, "api", by="grace")
    harness.advance(1)
    open_breaker(harness.engine, "api", by="grace")

    opened = [one for one in told(database) if one["kind"] == "breaker_opened"]
    assert len(opened) == 2
    assert opened[0]["payload"]["title"] == "breaker api opened by grace"
    assert "ada" not in json.dumps(opened)


def test_a_breaker_that_opens_itself_tells_its_figures(database: Database) -> None:
    harness = harness_with(database, breaker={"enabled": True, "failures": 3, "failure_ratio": 0.5,
                                              "categories": ["permanent"]})  # fmt: skip
    fail(harness, 5)

    [opened] = [one for one in told(database) if one["kind"] == "breaker_opened"]
    assert "failed" in opened["payload"]["title"]
    assert opened["payload"]["facts"]["by"] == "remand"


@pytest.mark.parametrize(("minutes", "failures", "expected"), [(5, 5, 1), (5, 2, 0), (1, 5, 0)])
def test_a_sweep_that_keeps_failing_is_told_once_a_spell(
    harness: Harness, database: Database, minutes: int, failures: int, expected: int
) -> None:
    now = harness.clock.now
    database.call(
        "insert into remand.sweep_runs (name, last_started_at, last_duration_seconds, failures_in_a_row,"
        " failing_since, last_failed_at, last_error, last_error_message, runs, failures, moved, worker)"
        " values ('rescue', %s, 1, %s, %s, %s, 'Busy', 'words', 9, 9, 0, %s)",
        (now, failures, now, now, harness.worker.id),
    )
    harness.advance(minutes=minutes)

    assert tell_failing(harness.engine) == expected
    assert tell_failing(harness.engine) == 0
    assert kinds(database) == ["sweep_failing"] * expected
