"""The one rule that says where a workflow stands, over every combination of what its steps may be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from remand_app.domain.states import StepState
from remand_app.domain.transitions import is_legal
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from tests.support.engine import Harness
from tests.support.invariants import PHASE_OF
from tests.support.shapes import shape

STATES = tuple(StepState)
MOVING = ("steps_in_process", "waiting_for_retry", "waiting_for_dependencies")
DONE = ("complete", "resolved_manually", "cancelled")
_WORKFLOW = """
insert into remand.workflows (id, template_id, created_at, input, submitted_by, priority, state, state_since,
                              open_steps, error_steps)
  values (%s, %s, now(), '{}', 'test', 5, %s, now(), %s, %s)
"""
_STEP = """
insert into remand.steps (workflow_id, name, position, handler, queue, priority, commit_each, depends_on,
                          children, state, ended_at, open_parents, attempt)
  values (%s, %s, %s, 'h', 'steps', 5, false, '{}', '{}', %s, case when %s then now() end, 0, 1)
"""
_QUEUED = """
insert into remand.run_queue (workflow_id, step, phase, queue, namespace, dependency, priority, due_at,
                              attempt, worker, lease_until)
  select %s, %s, p, 'steps', 't', 'h', 5, now(), 1,
         case when p in ('claimed', 'settling') then gen_random_uuid() end,
         case when p = 'claimed' then now() end from (select %s::text p) x
"""


def rule(states: Sequence[str]) -> str:
    """Say it once more, in other words than the SQL."""
    live = [state for state in states if state in PHASE_OF]
    if all(state in DONE for state in states):
        return "complete"
    if any(state != "waiting_for_retry" for state in live):
        return "steps_in_process"
    if live:
        return "waiting_for_retry"
    return "blocked_by_failures" if "error" in states else "waiting_for_dependencies"


@pytest.fixture
def template_id(raw_database: Database) -> int:
    harness = Harness(raw_database)
    harness.publish(shape("one", {"a": ()}))
    return harness.engine.templates.find("t/one").id


def store(
    database: Database, template_id: int, current: str, combinations: Sequence[tuple[str, ...]]
) -> list:
    """Store a workflow in a state for each combination of states of its steps."""
    ids = [new_id() for _ in combinations]
    workflows, steps, queue = [], [], []
    for one, states in zip(ids, combinations, strict=True):
        is_open = sum(state not in DONE for state in states)
        workflows.append((one, template_id, current, is_open, states.count("error")))
        for n, state in enumerate(states):
            steps.append((one, f"s{n}", n, state, state in (*DONE, "error")))
            if state in PHASE_OF:
                queue.append((one, f"s{n}", PHASE_OF[StepState(state)]))
    with database.cursor() as cursor:
        cursor.executemany(_WORKFLOW, workflows)
        cursor.executemany(_STEP, steps)
        cursor.executemany(_QUEUED, queue)
    return ids


@pytest.mark.parametrize("current", MOVING)
def test_a_workflow_stands_where_its_steps_say(
    raw_database: Database, template_id: int, current: str
) -> None:
    combinations = list(itertools.combinations_with_replacement(STATES, 2))
    ids = store(raw_database, template_id, current, combinations)

    raw_database.call("select remand.roll_up(%s::uuid[], 'test', now())", (ids,))

    states = dict(raw_database.call("select id, state from remand.workflows"))
    wrong = {
        states_of: (states[one], rule(states_of))
        for one, states_of in zip(ids, combinations, strict=True)
        if states[one] != rule(states_of)
    }
    assert wrong == {}


@pytest.mark.parametrize("current", MOVING)
def test_every_roll_up_is_a_legal_path(raw_database: Database, template_id: int, current: str) -> None:
    combinations = [(state,) for state in STATES]
    ids = store(raw_database, template_id, current, combinations)

    raw_database.call("select remand.roll_up(%s::uuid[], 'test', now())", (ids,))

    for one, states in zip(ids, combinations, strict=True):
        reached = current
        for from_state, event, to_state in raw_database.call(
            "select from_state, event, to_state from remand.history where workflow_id = %s order by seq",
            (one,),
        ):
            assert (from_state, is_legal("workflow", from_state, event, to_state)) == (reached, True)
            reached = to_state
        assert reached == rule(states)


@pytest.mark.parametrize(
    "current", ["blocked_by_failures", "complete", "error", "cancelled", "resolved_manually"]
)
def test_what_does_not_move_is_not_rolled_up(raw_database: Database, template_id: int, current: str) -> None:
    combinations = [("complete",), ("error",), ("enqueued",)]
    if current == "complete":
        combinations = [("complete",)]
    ids = store(raw_database, template_id, current, combinations)

    raw_database.call("select remand.roll_up(%s::uuid[], 'test', now())", (ids,))

    assert {row[0] for row in raw_database.call("select state from remand.workflows")} == {current}
    assert raw_database.call("select 1 from remand.history") == []


def test_rolling_up_twice_moves_once(raw_database: Database, template_id: int) -> None:
    ids = store(raw_database, template_id, "steps_in_process", [("error", "pending")])

    for _ in range(2):
        raw_database.call("select remand.roll_up(%s::uuid[], 'test', now())", (ids,))

    assert len(raw_database.call("select 1 from remand.history")) == 2
