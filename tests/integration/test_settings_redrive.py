"""The settings of redrives that are settings of their sweep: changing one changes what happens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from types import SimpleNamespace

import pytest

from app.domain.dead_letter_filter import LetterFilter
from app.domain.queues import MAINTENANCE
from app.engine import redrive
from app.engine.operate import Who
from app.engine.sweeps.redrive import redrive as sweep
from remand.errors import PermanentError
from tests.support.engine import Harness
from tests.support.shapes import always, shape


@pytest.mark.parametrize("batches", [1, 3])
def test_redrive_slice_seconds_is_when_a_sweep_lets_others_go_first(
    harness_with: Callable[..., Harness], monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    harness = harness_with(redrive_batch_size=1, redrive_slice_seconds=batches + 0.5)
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", range(5))
    harness.run_until_quiet()
    made = redrive.plan(harness.engine, LetterFilter(), Who("ann"), everything=True).redrive
    redrive.start(harness.engine, made.id, Who("ann"))
    harness.bell.take()
    # Each look at the clock finds it a second later.
    monkeypatch.setattr("app.engine.sweeps.redrive.time", SimpleNamespace(monotonic=count().__next__))

    assert sweep(harness.engine).dealt_with == batches

    assert MAINTENANCE in harness.bell.rings
