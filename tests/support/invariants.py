"""What must hold between any two transactions, whatever was killed, lost or doubled.

1. The moves of each workflow and step form a legal path from pending to its state.
2. A workflow held up by a dead step has exactly one open dead letter; no other has one.
3. No letter is open in a resolved group.
And: no attempt beyond its limits, one winner for each step, run queue and counters tell what the steps say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from remand_app.config import Settings
from remand_app.domain.retry import RetrySpec
from remand_app.domain.states import StepState, WorkflowState
from remand_app.domain.transitions import is_legal
from remand_app.engine.routing import Routing
from remand_app.store.database import Database
from remand_app.store.steps import Attempt, Step
from remand_app.store.templates import Templates

PHASE_OF = {
    StepState.ENQUEUED: "ready",
    StepState.IN_PROGRESS: "claimed",
    StepState.ENQUEUED_AS_ERROR_FOR_ORCHESTRATION: "failed",
    StepState.WAITING_FOR_RETRY: "waiting",
    StepState.ENQUEUED_FOR_ORCHESTRATION: "settling",
}
MOVING = (
    WorkflowState.STEPS_IN_PROCESS,
    WorkflowState.WAITING_FOR_RETRY,
    WorkflowState.WAITING_FOR_DEPENDENCIES,
    WorkflowState.BLOCKED_BY_FAILURES,
)

_WORKFLOWS = "select id, template_id, state, open_steps, error_steps, hold, gives_up from remand.workflows"
_STEPS = """
select s.workflow_id, s.name, s.position, s.handler, s.queue, s.priority, s.timeout_seconds, s.depends_on,
       s.children, s.state, s.open_parents, s.attempt, s.failures, s.lost_attempts, s.worker, s.enqueued_at,
       s.started_at, s.ended_at, null, null, null, null, null, null, null, null, null, null, s.after
  from remand.steps s
"""
_MOVES = "select workflow_id, step, from_state, event, to_state, kind from remand.moves order by at, seq"
_ATTEMPTS = """
select workflow_id, step, attempt, outcome, worker, null, started_at, ended_at, null, policy, decision,
       decided_at, due_at, explanation
  from remand.all_attempts
"""
_QUEUE = "select workflow_id, step, phase, queue, attempt, worker from remand.run_queue"
# What a breaker holds, only that breaker can let through.
_STRANDED = """
select q.workflow_id, q.step, q.dependency from remand.run_queue q
 where q.gate = 'held' and q.dependency not in
       (select b.name from remand.breakers b where b.state <> 'closed' or b.releasing_since is not null)
"""
_BREAKERS = "select name, state from remand.breakers"
_BREAKER_MOVES = "select name, kind, from_state, event, to_state from remand.breaker_moves order by name, seq"
_LETTERS = "select workflow_id from remand.dead_letters where status in ('pending', 'investigating')"
_FORGOTTEN = """
select l.id, g.id from remand.dead_letters l join remand.dead_letter_groups g on g.id = l.group_id
 where l.status in ('pending', 'investigating') and g.state = 'resolved'
"""


def check_invariants(database: Database, settings: Settings | None = None) -> None:
    """Raise an AssertionError that lists everything that does not hold."""
    found = list(_broken(database, settings or Settings()))
    assert not found, "invariants are broken:\n  " + "\n  ".join(found[:40])


def _broken(database: Database, settings: Settings) -> Iterator[str]:
    steps: dict[UUID, list[Step]] = defaultdict(list)
    for row in _read(database, _STEPS):
        values = list(row)
        values[9] = StepState(values[9])
        steps[row[0]].append(Step(*values))
    paths: dict[tuple[UUID, str | None], list[tuple[str, str, str, str]]] = defaultdict(list)
    for workflow_id, name, from_state, event, to_state, kind in _read(database, _MOVES):
        paths[workflow_id, name].append((kind, from_state, event, to_state))
    attempts: dict[tuple[UUID, str], list[Attempt]] = defaultdict(list)
    for workflow_id, *columns in _read(database, _ATTEMPTS):
        attempts[workflow_id, columns[0]].append(Attempt(*columns))
    queued = {(row[0], row[1]): row[2:] for row in _read(database, _QUEUE)}
    letters = Counter(row[0] for row in _read(database, _LETTERS))
    templates = Templates(database)
    routing = Routing(templates, settings)
    known = set()
    for row in _read(database, _WORKFLOWS):
        workflow_id, template_id, state, open_steps, error_steps, hold, gives_up = row
        of_it = steps[workflow_id]
        known |= {(workflow_id, step.name) for step in of_it}
        where = f"workflow {workflow_id}"
        yield from _illegal_path(where, paths[workflow_id, None], state)
        yield from _wrong_counters(where, of_it, open_steps, error_steps)
        yield from _wrong_state(where, WorkflowState(state), of_it, hold)
        failed = 0 if gives_up else error_steps
        yield from _wrong_letters(where, WorkflowState(state), failed, letters[workflow_id])
        template = templates.get(template_id).template
        for step in of_it:
            at = f"{where} step {step.name}"
            path = paths[workflow_id, step.name]
            yield from _illegal_path(at, path, step.state)
            yield from _wrong_queue(at, step, queued.get((workflow_id, step.name)))
            yield from _wrong_attempts(at, step, attempts[workflow_id, step.name], path)
            if step.failures or step.lost_attempts:
                yield from _over_limits(at, step, routing.spec(template, step.name))
    for letter_id, group_id in _read(database, _FORGOTTEN):
        yield f"dead letter {letter_id} is open, its group {group_id} is resolved"
    yield from _broken_gates(database)
    for workflow_id, name in queued.keys() - known:
        yield f"run queue has workflow {workflow_id} step {name}, which is no step"


def _read(database: Database, query: str) -> Sequence[Any]:
    with database.begin() as connection:
        # Compiling what reads a handful of rows, through many partitions, would take seconds.
        connection.exec_driver_sql("set local jit = off")
        return connection.exec_driver_sql(query).all()


def _broken_gates(database: Database) -> Iterator[str]:
    for workflow_id, step, dependency in _read(database, _STRANDED):
        yield f"workflow {workflow_id} step {step}: held by the breaker of {dependency}, which is closed"
    paths: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for name, *moved in _read(database, _BREAKER_MOVES):
        paths[name].append((moved[0], moved[1], moved[2], moved[3]))
    for name, state in _read(database, _BREAKERS):
        yield from _illegal_path(f"breaker {name}", paths[name], state, begins="closed")


def _illegal_path(
    where: str, path: Iterable[tuple[str, str, str, str]], state: str, *, begins: str = "pending"
) -> Iterator[str]:
    reached = begins
    for kind, from_state, event, to_state in path:
        if from_state != reached:
            yield f"{where}: {event} leaves {from_state}, but it was {reached}"
        if not is_legal(kind, from_state, event, to_state):
            yield f"{where}: {from_state} -{event}-> {to_state} is illegal"
        reached = to_state
    if reached != state:
        yield f"{where}: the moves end at {reached}, the row says {state}"


def _wrong_counters(where: str, steps: list[Step], open_steps: int, error_steps: int) -> Iterator[str]:
    over = ("complete", "resolved_manually", "cancelled")
    really_open = sum(step.state not in over for step in steps)
    really_failed = sum(step.state == "error" for step in steps)
    if (open_steps, error_steps) != (really_open, really_failed):
        yield (
            f"{where}: counts {open_steps} open and {error_steps} failed steps, there are {really_open}"
            f" and {really_failed}"
        )
    by_name = {step.name: step for step in steps}
    for step in steps:
        parents = [by_name[parent].state for parent in step.depends_on]
        # For what follows any end, or a failure, a parent that was skipped has ended.
        waits_for = sum(
            not (state.satisfies_children or (step.after is not None and state == "cancelled"))
            for state in parents
        )
        if step.state == "pending" and step.open_parents != waits_for:
            yield f"{where} step {step.name}: counts {step.open_parents} open parents, there are {waits_for}"


def _wrong_state(where: str, state: WorkflowState, steps: list[Step], hold: str | None) -> Iterator[str]:
    live = [step for step in steps if step.state in PHASE_OF]
    if state in MOVING:
        waiting = [step for step in live if step.state == StepState.WAITING_FOR_RETRY]
        if len(live) > len(waiting):
            rolled_up = WorkflowState.STEPS_IN_PROCESS
        elif waiting:
            rolled_up = WorkflowState.WAITING_FOR_RETRY
        elif any(step.state == StepState.ERROR for step in steps):
            rolled_up = WorkflowState.BLOCKED_BY_FAILURES
        else:
            rolled_up = WorkflowState.WAITING_FOR_DEPENDENCIES
        if state != rolled_up:
            yield f"{where}: is {state}, its steps say {rolled_up}"
        stuck = [s.name for s in steps if s.state == "pending" and s.open_parents == 0 and hold is None]
        if stuck:
            yield f"{where}: {stuck} could start, but nobody enqueued them"
    elif live:
        yield f"{where}: is {state}, yet {[step.name for step in live]} are live"
    if state == WorkflowState.COMPLETE:
        # What follows a failure that did not come is skipped, and what is behind it.
        skips = any(step.after is not None for step in steps)
        satisfied = [s.state.satisfies_children or (skips and s.state == "cancelled") for s in steps]
        open_ones = [s.name for s, is_satisfied in zip(steps, satisfied, strict=True) if not is_satisfied]
        if open_ones:
            yield f"{where}: is complete without {open_ones}"


def _wrong_letters(where: str, state: WorkflowState, error_steps: int, letters: int) -> Iterator[str]:
    wanted = int(not state.is_final and error_steps > 0)
    if letters != wanted:
        yield f"{where}: is {state} with {error_steps} failed steps and has {letters} open dead letters"


def _wrong_queue(where: str, step: Step, row: Any) -> Iterator[str]:
    phase = PHASE_OF.get(step.state)
    if row is None or phase is None:
        if (row is None) != (phase is None):
            yield f"{where}: is {step.state}, its run queue row is {row}"
        return
    queue_ok = row[1].startswith("retry.") if phase == "failed" else row[1] == step.queue
    worker_ok = row[3] == (step.worker if phase in ("claimed", "settling") else None)
    if row[0] != phase or row[2] != step.attempt or not queue_ok or not worker_ok:
        yield f"{where}: is {step.state} at attempt {step.attempt} of {step.worker}, its row is {row}"


def _over_limits(where: str, step: Step, spec: RetrySpec) -> Iterator[str]:
    if step.failures > spec.max_attempts or step.lost_attempts > spec.lost_attempts:
        yield f"{where}: {step.failures} failures, {step.lost_attempts} lost: beyond its limits"


def _wrong_attempts(
    where: str, step: Step, attempts: list[Attempt], path: list[tuple[str, str, str, str]]
) -> Iterator[str]:
    numbers = sorted(one.attempt for one in attempts)
    whole = list(range(1, step.attempt + 1))
    if numbers != whole:
        yield f"{where}: is at attempt {step.attempt}, but has the attempts {numbers}"
    won = sum(one.outcome == "complete" for one in attempts)
    # One for each time it completed (it may have been restarted), and one whose result is parked.
    wanted = sum(one[2] == "complete" for one in path) + int(step.state == "enqueued_for_orchestration")
    if won != wanted:
        yield f"{where}: is {step.state} with {won} winning attempts"
