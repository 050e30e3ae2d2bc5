"""A redrive that stands still says why, until when, and what can be done; a canary is tried as a probe."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest

from remand import PermanentError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.redrive import RedriveState
from remand_app.engine import redrive
from remand_app.engine.operate import Who
from remand_app.engine.operate.breakers import close_breaker, open_breaker
from remand_app.engine.pauses import pause_queue
from remand_app.engine.redrive import Options, Wait
from remand_app.engine.sweeps.redrive import redrive as sweep
from tests.support.engine import Harness
from tests.support.shapes import always, shape

ANN = Who("ann", "fixed")
RESET = ConnectionResetError("reset")
Rig = Callable[..., Harness]


@pytest.fixture
def site(harness_with: Rig) -> Harness:
    harness = harness_with(
        breaker={"enabled": True, "failures": 3, "cool_down_seconds": 30, "release_per_second": 2}
    )
    harness.publish(shape("one", {"a": ()}))
    return harness


def dead(harness: Harness, count: int = 3) -> list[UUID]:
    """So many dead letters of a cause that is mended."""
    harness.play(a=always(PermanentError("card declined")))
    ids = harness.submit_many("t/one", [None] * count)
    harness.run_until_quiet()
    harness.play()
    return ids


def started(harness: Harness, **options: object) -> UUID:
    made = redrive.plan(
        harness.engine,
        LetterFilter(),
        ANN,
        Options(**options),  # type: ignore[arg-type]
        everything=True,
    ).redrive
    redrive.start(harness.engine, made.id, ANN)
    sweep(harness.engine)
    if made.queue is None:  # The harness takes from every queue that rings.
        turn(harness)
    return made.id


def turn(harness: Harness) -> None:
    sweep(harness.engine)
    harness.run_until_quiet()
    sweep(harness.engine)


def waits(harness: Harness, redrive_id: UUID) -> list[Wait]:
    return list(redrive.progress(harness.engine, redrive_id).waits)


def test_a_canary_behind_an_open_breaker_says_until_when_and_how_to_end_it(site: Harness) -> None:
    dead(site)
    open_breaker(site.engine, "h", by="bob", seconds=540)

    one = started(site, canary=(1,))

    [wait] = waits(site, one)
    assert (wait.letters, wait.why, wait.then) == (1, "the breaker of h is open", "it probes")
    assert wait.until == site.engine.instant() + timedelta(seconds=540)
    assert wait.verb == "remand breaker close h"
    assert redrive.progress(site.engine, one).to_dict()["waits"] == (wait,)


def test_a_breaker_opened_for_good_names_no_time(site: Harness) -> None:
    dead(site)
    open_breaker(site.engine, "h", by="bob")

    [wait] = waits(site, started(site))

    assert (wait.letters, wait.until) == (3, None)
    assert wait.why == "the breaker of h is open until somebody closes it"


def test_a_breaker_that_lets_go_slowly_is_told(site: Harness) -> None:
    dead(site, 5)
    open_breaker(site.engine, "h", by="bob")
    one = started(site)
    close_breaker(site.engine, "h", by="bob")

    [wait] = waits(site, one)

    assert wait.why == "the breaker of h lets go of what it held, at its rate"
    assert wait.verb == "remand breaker reset h"


def test_a_paused_queue_is_told_with_its_verb(site: Harness) -> None:
    dead(site)
    pause_queue(site.engine, "steps", by="bob")

    [wait] = waits(site, started(site))

    assert (wait.letters, wait.why) == (3, "queue steps is paused by bob")
    assert wait.verb == "remand queue resume steps"


def test_a_queue_without_workers_is_told_with_its_verb(site: Harness) -> None:
    dead(site)

    [wait] = waits(site, started(site, queue="big"))

    assert (wait.letters, wait.why) == (3, "no live worker consumes queue big")
    assert wait.verb == "remand worker -Q big"


def test_what_failed_again_and_will_be_retried_is_told(site: Harness) -> None:
    dead(site, 1)
    site.play(a=always(RESET))

    [wait] = waits(site, started(site, canary=(1,)))

    assert wait.why == "what failed again waits for its retry"
    assert wait.until is not None
    assert wait.until > site.engine.instant()


def test_one_that_is_to_begin_later_says_so(site: Harness) -> None:
    dead(site)
    later = site.engine.instant() + timedelta(hours=1)

    [wait] = waits(site, started(site, not_before=later))
    [other] = waits(site, started(site, code_version="2.4"))

    assert (wait.until, wait.then) == (later, "it begins")
    assert other.why.startswith("it begins once every live worker runs 2.4: 0 do, ")


def test_one_that_goes_on_or_was_paused_waits_for_nothing(site: Harness) -> None:
    dead(site)
    open_breaker(site.engine, "h", by="bob")
    one = started(site, canary=(1,))
    redrive.pause(site.engine, one, ANN)

    assert waits(site, one) == []
    redrive.resume(site.engine, one, ANN)
    close_breaker(site.engine, "h", by="bob")
    turn(site)
    assert waits(site, one) == []


def test_a_canary_is_the_probe_though_others_wait_longer(site: Harness) -> None:
    """Traffic that fails would otherwise keep the breaker open, and the canary behind it for ever."""
    fixed = dead(site)
    site.play(a=always(RESET))
    site.submit_many("t/one", range(3))
    site.run_until_quiet()
    site.submit_many("t/one", range(1100))
    one = started(site, canary=(1,))

    def mended(ctx: object) -> str:
        if getattr(ctx, "workflow_id", "") not in {str(each) for each in fixed}:
            raise RESET
        return "well"

    site.play(a=mended)
    site.advance(30)
    site.run_until_quiet()
    sweep(site.engine)

    known = redrive.get(site.engine, one)
    assert (known.succeeded, known.state) == (1, RedriveState.RUNNING), "the canary was the first probe"


def test_a_canary_that_failed_as_a_probe_lets_others_be_tried(site: Harness) -> None:
    dead(site, 1)
    site.play(a=always(RESET))
    site.submit_many("t/one", range(3))
    site.run_until_quiet()
    late = site.submit("t/one")
    site.run_until_quiet()
    started(site, canary=(1,))
    ran = site.play(a=always(RESET))

    for _ in range(2):
        site.advance(70)
        site.run_until_quiet()

    assert len(ran) == 2
    assert site.step(late, "a").attempt == 1, "the second probe is what was never tried"


def test_the_forecast_asks_whether_another_redrive_has_them(site: Harness) -> None:
    dead(site)
    open_breaker(site.engine, "h", by="bob")
    started(site, canary=(1,))

    made = redrive.plan(site.engine, LetterFilter(), ANN, everything=True)
    again = redrive.plan(site.engine, LetterFilter(), ANN, everything=True)

    for found in (made, again):
        [check] = [each for each in found.forecast.checks if each.name == "redrive"]
        assert (check.asked, check.against) == (2, 2), "plans that nobody started count for nothing"
        assert "started by ann, has it (canary)" in check.examples[0].why
