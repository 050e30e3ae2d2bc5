"""Whatever a page shows, its change is heard of: pages fetch themselves again when the pulse differs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remand.errors import PermanentError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.engine import operate, redrive
from remand_app.engine.operate import Who, groups
from remand_app.engine.operate.breakers import open_breaker
from remand_app.engine.pauses import pause_queue
from remand_app.engine.redrive import Options
from remand_app.engine.sweeps.redrive import redrive as sweep
from remand_app.store import change_mark
from tests.support.engine import Harness
from tests.support.shapes import HANDLER, always, shape

ANN = Who("ann", "so")


def letter(harness: Harness) -> object:
    return harness.database.call("select id from remand.dead_letters order by id limit 1")[0][0]


CHANGES: dict[str, Callable[[Harness], object]] = {
    "submit": lambda harness: harness.submit("t/one"),
    "death": lambda harness: (harness.submit("t/one"), harness.run_until_quiet()),
    "claim": lambda harness: operate.claim_letter(harness.engine, letter(harness), ANN),  # type: ignore[arg-type]
    "note": lambda harness: operate.note_letter(harness.engine, letter(harness), "x", ANN),  # type: ignore[arg-type]
    "group": lambda harness: groups.claim_group(
        harness.engine, harness.database.call("select id from remand.dead_letter_groups")[0][0], ANN
    ),
    "pause": lambda harness: pause_queue(harness.engine, "steps", by="ann"),
    "breaker": lambda harness: open_breaker(harness.engine, HANDLER, by="ann"),
    "worker": lambda harness: harness.new_worker("steps", hostname="w2@test"),
}


@pytest.fixture
def dead(harness: Harness) -> Harness:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", range(3))
    harness.run_until_quiet()
    return harness


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_heard_of(dead: Harness, change: str) -> None:
    before = change_mark.take(dead.database)
    assert change_mark.take(dead.database) == before

    CHANGES[change](dead)

    assert change_mark.take(dead.database) != before


def test_every_stage_of_a_redrive_is_heard_of(dead: Harness) -> None:
    made = redrive.plan(dead.engine, LetterFilter(), ANN, Options(canary=(1,)), everything=True).redrive
    heard = [change_mark.take(dead.database)]
    dead.play()
    redrive.start(dead.engine, made.id, ANN)
    states = []
    for _ in range(6):
        sweep(dead.engine)
        heard.append(change_mark.take(dead.database))
        states.append(redrive.get(dead.engine, made.id).state)
        dead.run_until_quiet()

    assert states[-1] == "finished"
    last = states.index("finished")
    assert len(set(heard[: last + 2])) == last + 2, "a page would not have been fetched again"
