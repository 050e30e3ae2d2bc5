"""One workflow that a sweep breaks on holds up no other: the sweep goes on, and says so at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.exc import DBAPIError

from app.engine.context import Engine
from app.engine.sweeps.expire import expire
from app.engine.sweeps.requeue import requeue
from app.engine.sweeps.stale import stale
from app.engine.sweeps.stalled import stalled
from remand.errors import PermanentError
from tests.support.engine import Harness
from tests.support.refusals import refusing
from tests.support.shapes import always, shape

DAY = 86_400.0


def old(harness: Harness, **top: Any) -> list[UUID]:
    harness.publish(shape("old", {"a": ()}, **top))
    ids = harness.submit_many("t/old", range(5))
    harness.advance(2 * DAY)
    return ids


def expiring(harness: Harness) -> list[UUID]:
    return old(harness, expire_after_seconds=DAY)


def standing(harness: Harness) -> list[UUID]:
    harness.publish(shape("still", {"a": ()}))
    ids = harness.submit_many("t/still", range(5))
    harness.database.call("update remand.steps set state = 'pending', enqueued_at = null, open_parents = 1")
    harness.database.call("delete from remand.run_queue")
    return ids


def failed(harness: Harness) -> list[UUID]:
    auto = {"auto_requeue": {"enabled": True, "interval_seconds": 60}}
    harness.publish(shape("bad", {"a": ()}, dead_letters=auto))
    harness.play(a=always(PermanentError("no")))
    ids = harness.submit_many("t/bad", range(5))
    harness.run_until_quiet()
    harness.advance(2 * DAY)
    return ids


SWEEPS: dict[str, tuple[Callable[[Harness], list[UUID]], Callable[[Engine], object], str, str]] = {
    "expire": (
        lambda one: old(one, expire_after_seconds=DAY),
        expire,
        "insert on remand.dead_letters",
        "error",
    ),
    "stale": (old, stale, "insert on remand.dead_letters", "error"),
    "stalled": (standing, stalled, "insert on remand.dead_letters", "error"),
    "requeue": (failed, requeue, "update on remand.dead_letters", "enqueued"),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_passes_over_what_it_breaks_on(harness: Harness, name: str) -> None:
    make, sweep, refused, then = SWEEPS[name]
    ids = make(harness)
    before = harness.states(ids[2])

    with refusing(harness.database, refused, ids[2]), pytest.raises(DBAPIError, match="no such luck"):
        sweep(harness.engine)

    assert [harness.states(one)["a"] for one in ids if one != ids[2]] == [then] * 4
    assert harness.states(ids[2]) == before
    sweep(harness.engine)
    assert harness.states(ids[2])["a"] == then
