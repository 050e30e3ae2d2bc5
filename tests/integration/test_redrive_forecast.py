"""What a plan says before anything is done: what stands in the way, and how such letters fared before."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from remand import PermanentError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.redrive import RedriveVerb
from remand_app.engine import operate, redrive
from remand_app.engine.operate import Who, claim_letter, requeue_letter
from remand_app.engine.operate.breakers import open_breaker
from remand_app.engine.pauses import pause_queue
from remand_app.engine.redrive import Forecast, ForecastCheck, Options, outlook
from remand_app.engine.redrive import run as running
from remand_app.engine.sweeps.redrive import redrive as sweep
from tests.support.engine import Harness, make_engine
from tests.support.shapes import always, shape

ANN, BOB = Who("ann", "fixed"), Who("bob")


def dead(harness: Harness, count: int, error: str = "card declined", **more: Any) -> list[UUID]:
    """So many dead workflows of one cause; return their letters."""
    harness.publish(shape("one", {"a": ()}, **more))
    harness.play(a=always(PermanentError(error)))
    ids = harness.submit_many("t/one", [{"n": number} for number in range(count)])
    harness.run_until_quiet()
    return sorted(harness.open_letter(one).id for one in ids)


def told(harness: Harness, **options: Any) -> Forecast:
    made = redrive.plan(harness.engine, LetterFilter(), ANN, Options(**options), everything=True)
    return made.forecast


def check(forecast: Forecast, name: str) -> ForecastCheck:
    return next(one for one in forecast.checks if one.name == name)


def test_nothing_speaks_against_letters_that_are_as_they_should_be(harness: Harness) -> None:
    dead(harness, 3)

    forecast = told(harness)

    assert [one.name for one in forecast.checks if not one.is_fine] == []
    assert (forecast.letters, forecast.sampled, forecast.expected_share) == (3, 3, None)
    [group] = forecast.groups
    assert (group.letters, group.share) == (3, None)
    assert "card declined" in group.error
    assert forecast.to_dict()["checks"][0]["is_fine"] is True


def test_who_is_at_it_already_is_told(harness: Harness) -> None:
    letters = dead(harness, 3)
    claim_letter(harness.engine, letters[0], BOB)
    claim_letter(harness.engine, letters[1], ANN)

    found = check(told(harness), "unclaimed")

    assert (found.asked, found.against) == (3, 1)
    assert found.examples[0].letter_id == letters[0]
    assert "will be skipped" in found.examples[0].why
    assert "sent all the same" in check(told(harness, include_claimed=True), "unclaimed").examples[0].why


def test_letters_closed_since_the_plan_are_told_again(harness: Harness) -> None:
    letters = dead(harness, 2)
    made = redrive.plan(harness.engine, LetterFilter(), ANN, everything=True).redrive
    requeue_letter(harness.engine, letters[1], BOB)

    found = check(redrive.forecast(harness.engine, made.id), "open")

    assert (found.against, found.examples[0].letter_id) == (1, letters[1])


def test_a_newer_version_and_its_schema_are_held_against_old_input(harness: Harness) -> None:
    letters = dead(harness, 2)
    schema = {"type": "object", "required": ["card"]}
    harness.publish(shape("one", {"a": ()}, version="2", input_schema=schema))

    # Another process, which does not remember what was the newest a moment ago.
    engine = make_engine(harness.database, harness.clock, harness.bell, harness.settings)
    forecast = redrive.plan(engine, LetterFilter(), ANN, everything=True).forecast

    assert check(forecast, "version").against == 2
    assert "runs version 1, the newest is 2" in check(forecast, "version").examples[0].why
    invalid = check(forecast, "input")
    assert (invalid.against, invalid.examples[0].letter_id) == (2, letters[0])
    assert "card" in invalid.examples[0].why


def test_a_breaker_that_holds_the_step_is_told(harness: Harness) -> None:
    dead(harness, 2)
    open_breaker(harness.engine, "h", by="bob")

    found = check(told(harness), "breaker")

    assert (found.against, found.examples[0].why) == (2, "the breaker of h holds step a")


def test_queues_at_rest_are_told(harness: Harness) -> None:
    dead(harness, 1)
    assert check(told(harness), "queue").is_fine

    assert check(told(harness, queue="big"), "queue").examples[0].why == "no live worker consumes queue big"
    pause_queue(harness.engine, "steps", by="bob")
    assert check(told(harness), "queue").examples[0].why == "queue steps is paused by bob"


def test_an_identity_somebody_else_has_by_now_is_told(harness: Harness) -> None:
    dead(harness, 1, identity="strict")
    harness.database.call("update remand.identities set workflow_id = gen_random_uuid()")

    assert check(told(harness), "identity").against == 1


def test_a_workflow_that_is_gone_is_told(harness: Harness) -> None:
    dead(harness, 1)
    harness.database.call("delete from remand.steps")
    harness.database.call("delete from remand.workflows")

    forecast = told(harness)

    assert (check(forecast, "workflow").against, check(forecast, "input").against) == (1, 0)


def test_the_past_of_a_cause_is_what_is_expected_of_it(harness: Harness) -> None:
    letters = dead(harness, 4)
    for part, some in (("well", letters[1:]), (always(PermanentError("card declined")), letters[:1])):
        harness.play(a=part)
        for letter in some:
            requeue_letter(harness.engine, letter, ANN)
        harness.advance(1)
        harness.run_until_quiet()
    dead(harness, 3)

    forecast = told(harness)

    [group] = forecast.groups
    assert (group.succeeded, group.failed, group.letters) == (3, 1, 4)
    assert forecast.expected_share == 0.75


def test_of_many_letters_a_sample_is_looked_at_and_that_is_said(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlook, "SAMPLE", 5)
    dead(harness, 20)

    forecast = told(harness)

    assert (forecast.letters, forecast.sampled, check(forecast, "input").asked) == (20, 5, 5)
    assert check(forecast, "open").asked == 20


def test_a_plan_of_nothing_is_a_plan(harness: Harness) -> None:
    forecast = told(harness)
    assert (forecast.letters, forecast.groups, forecast.expected_share) == (0, (), None)

    made = redrive.plan(harness.engine, LetterFilter(), ANN, Options(canary=(1,)), everything=True).redrive
    redrive.start(harness.engine, made.id, ANN)
    sweep(harness.engine)
    assert redrive.get(harness.engine, made.id).state == "finished"


def test_outcomes_are_looked_for_in_turns(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "FOLLOWED", 2)
    dead(harness, 5)
    made = redrive.plan(harness.engine, LetterFilter(), ANN, everything=True).redrive
    redrive.start(harness.engine, made.id, ANN)
    sweep(harness.engine)
    for _ in range(4):
        sweep(harness.engine)
    harness.play()
    harness.bell.rings = ["steps"]
    harness.run_until_quiet()

    for _ in range(5):
        sweep(harness.engine)

    assert redrive.get(harness.engine, made.id).state == "finished"
    assert redrive.get(harness.engine, made.id).succeeded == 5


def test_with_priority_0_fresh_work_goes_before_what_was_requeued(harness: Harness) -> None:
    dead(harness, 30)
    made = redrive.plan(harness.engine, LetterFilter(), ANN, Options(priority=0), everything=True).redrive
    redrive.start(harness.engine, made.id, ANN)
    sweep(harness.engine)
    fresh = harness.submit("t/one", {"n": 99})

    [claim] = harness.worker.queue.claim("steps", 1)

    assert claim.workflow_id == fresh


def test_a_verb_that_sends_nothing_back_has_a_forecast_too(harness: Harness) -> None:
    letters = dead(harness, 2)
    assert told(harness, verb=RedriveVerb.RESOLVE).letters == 2
    operate.resolve_letter(harness.engine, letters[0], BOB)
    assert told(harness, verb=RedriveVerb.RESOLVE).letters == 1
