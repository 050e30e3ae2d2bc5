"""A parked result that PostgreSQL refuses to take holds up no drain whose own results were parked, too."""

from __future__ import annotations

from remand_app.engine.sweeps.rescue import rescue
from remand_app.store.claims import Completed
from remand_app.store.workflows import lock_workflow
from tests.support.engine import Harness
from tests.support.refusals import refusing
from tests.support.shapes import shape


def test_a_drain_leaves_what_it_cannot_apply_to_the_sweep(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    bad = harness.submit("t/one")
    [claim] = harness.worker.queue.claim("steps", 5)
    with harness.database.begin() as connection:
        lock_workflow(connection, bad)
        harness.worker.queue.settle([Completed(claim, "1")], "steps", 5)
    ran = harness.play()
    good = harness.submit("t/one")

    with refusing(harness.database, "update on remand.steps", bad):
        with harness.database.begin() as connection:
            lock_workflow(connection, good)
            harness.drain()
        rescue(harness.engine)

    assert len(ran) == 1
    assert harness.states(good)["a"] == "complete"
    rescue(harness.engine)
    assert harness.states(bad)["a"] == "complete"
