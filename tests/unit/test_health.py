from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.store.health import SILENT_SECONDS, SWEEPS_SECONDS, Seen, trouble

WELL = Seen(
    heartbeat_age=1.0,
    stopped=False,
    queues=["steps"],
    is_busy=False,
    waiting_queue=None,
    heard_age=None,
)
SWEEPER = replace(WELL, queues=["remand.maintenance", "remand.commands"], heard_age=1.0)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(WELL, id="idle"),
        pytest.param(replace(WELL, is_busy=True, waiting_queue="steps"), id="busy, with a backlog"),
        pytest.param(replace(WELL, heard_age=SWEEPS_SECONDS * 9), id="nothing to hear"),
        pytest.param(SWEEPER, id="sweeping"),
        pytest.param(replace(SWEEPER, heard_age=None), id="leaves no signs"),
    ],
)
def test_a_worker_that_does_its_work_is_well(seen: Seen) -> None:
    assert trouble(seen) is None


@pytest.mark.parametrize(
    ("seen", "changes", "says"),
    [
        (WELL, {"heartbeat_age": SILENT_SECONDS + 1}, "no heartbeat in Postgres for 11 s"),
        (WELL, {"stopped": True}, "stopped"),
        (WELL, {"waiting_queue": "steps"}, "work waits in queue steps"),
        (SWEEPER, {"heard_age": SWEEPS_SECONDS + 1}, "no message for 61 s"),
    ],
)
def test_trouble_has_a_name(seen: Seen, changes: dict[str, Any], says: str) -> None:
    assert says in (trouble(replace(seen, **changes)) or "")
