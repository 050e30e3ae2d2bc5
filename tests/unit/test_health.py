from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from remand_app.healthcheck import SILENT_SECONDS, SWEEPS_SECONDS, trouble
from remand_app.store.worker_health import WorkerHealth

WELL = WorkerHealth(
    heartbeat_age=1.0,
    stopped=False,
    queues=["steps"],
    is_busy=False,
    waiting_queue=None,
)
SWEEPER = replace(WELL, queues=["remand.maintenance", "remand.commands"])


@pytest.mark.parametrize(
    ("worker", "heard_age"),
    [
        pytest.param(WELL, None, id="idle"),
        pytest.param(replace(WELL, is_busy=True, waiting_queue="steps"), None, id="busy, with a backlog"),
        pytest.param(WELL, SWEEPS_SECONDS * 9, id="nothing to hear"),
        pytest.param(SWEEPER, 1.0, id="sweeping"),
        pytest.param(SWEEPER, None, id="leaves no files"),
    ],
)
def test_a_worker_that_does_its_work_is_well(worker: WorkerHealth, heard_age: float | None) -> None:
    assert trouble(worker, heard_age) is None


@pytest.mark.parametrize(
    ("worker", "changes", "heard_age", "says"),
    [
        (WELL, {"heartbeat_age": SILENT_SECONDS + 1}, None, "no heartbeat in Postgres for 11 s"),
        (WELL, {"stopped": True}, None, "stopped"),
        (WELL, {"waiting_queue": "steps"}, None, "work waits in queue steps"),
        (SWEEPER, {}, SWEEPS_SECONDS + 1, "no message for 61 s"),
    ],
)
def test_trouble_has_a_name(
    worker: WorkerHealth, changes: dict[str, Any], heard_age: float | None, says: str
) -> None:
    assert says in (trouble(replace(worker, **changes), heard_age) or "")
