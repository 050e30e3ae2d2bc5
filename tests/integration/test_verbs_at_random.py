"""Whatever people and workers do in whatever order, what must hold holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remand.errors import PermanentError
from remand_app.domain.errors import Conflict
from remand_app.engine import operate
from remand_app.engine.operate import Who
from remand_app.store.claims import Claim, Completed
from remand_app.store.database import Database
from tests.support.databases import empty_all
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import shape

ANN = Who("ann", "at random")
NAMES = "abcde"
_STARTABLE_THOUGH_PAUSED = """
select q.step, q.phase from remand.run_queue q join remand.workflows f on f.id = q.workflow_id
 where f.paused_at is not null and q.phase in ('ready', 'waiting')
"""


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """A random graph: each step depends on some of those before it."""
    return {
        name: draw(st.lists(st.sampled_from(NAMES[:index]), unique=True, max_size=3)) if index else []
        for index, name in enumerate(NAMES)
    }


STEP_VERBS: dict[str, Callable[..., Any]] = {
    "retry": operate.retry_step,
    "resolve": operate.resolve_step,
    "complete": lambda *given: operate.complete_step(*given, result=1),
    "skip": operate.skip_step,
    "restart": operate.restart_from,
}
WORKFLOW_VERBS: dict[str, Callable[..., Any]] = {
    "pause": operate.pause_workflow,
    "resume": operate.resume_workflow,
    "cancel": operate.cancel,
}
LETTER_VERBS: dict[str, Callable[..., Any]] = {
    "requeue": operate.requeue_letter,
    "resolve letter": operate.resolve_letter,
    "give up": operate.give_up_letter,
    "claim": operate.claim_letter,
    "release": operate.release_letter,
}


class Busy(Harness):
    """A harness whose worker keeps steps running while others act."""

    running: list[Claim]


def _claim_and_give_back(harness: Busy) -> None:
    harness.worker.queue.give_back(harness.worker.queue.claim("steps", 1))


def _claim(harness: Busy) -> None:
    """Begin steps that go on running while others act."""
    harness.running += harness.worker.queue.claim("steps", 2)


def _settle(harness: Busy) -> None:
    running, harness.running = harness.running, []
    harness.worker.queue.settle([Completed(one, '"well"') for one in running[:1]], "steps", 0)
    harness.running = running[1:]


def _decide(harness: Busy) -> None:
    for policy in ("exponential", "never", "immediate", "linear"):
        harness.drain_failures(policy)


def _later(harness: Busy) -> None:
    harness.advance(120)
    harness.sweep_ring()
    harness.sweep_rescue()


WORKERS: dict[str, Callable[[Busy], object]] = {
    "drain": Harness.drain,
    "claim and give back": _claim_and_give_back,
    "claim": _claim,
    "settle": _settle,
    "decide": _decide,
    "sweep": Harness.sweep_ring,
    "later": _later,
}


ACTS = st.one_of(
    st.sampled_from([*WORKERS, "claim", "settle"]).map(lambda one: (one, "")),
    st.tuples(st.sampled_from(sorted(STEP_VERBS)), st.sampled_from(NAMES)),
    st.sampled_from(["pause", "resume", "cancel", *LETTER_VERBS]).map(lambda one: (one, "")),
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    graph=graphs(),
    broken=st.dictionaries(st.sampled_from(NAMES), st.booleans(), min_size=1, max_size=3),
    begun=st.booleans(),
    mode=st.sampled_from(["finish_branches", "fail_fast"]),
    acts=st.lists(ACTS, min_size=5, max_size=25),
)
def test_invariants_hold_after_any_sequence_of_verbs(
    database: Database,
    *,
    graph: dict[str, list[str]],
    broken: dict[str, bool],
    begun: bool,
    mode: str,
    acts: list[Any],
) -> None:
    empty_all(database)
    harness = Busy(database)
    harness.publish(shape("any", graph, on_failure=mode))
    harness.play(**{step: _failing(for_good) for step, for_good in broken.items()})
    harness.running = []
    workflow = harness.submit("t/any", {})
    if begun:
        harness.run_until_quiet()
    for verb, step in acts:
        with suppress(Conflict):
            _act(harness, workflow, verb, step)
        check_invariants(database)
        assert database.call(_STARTABLE_THOUGH_PAUSED) == []


def _failing(for_good: bool) -> Callable[[Any], Any]:
    def run(ctx: Any) -> str:
        if for_good and ctx.attempt < 3:
            raise PermanentError("no")
        if ctx.attempt == 1:
            raise ConnectionResetError("reset")
        return "well"

    return run


def _act(harness: Busy, workflow: UUID, verb: str, step: str) -> None:
    if verb in WORKERS:
        WORKERS[verb](harness)
    elif verb in STEP_VERBS:
        STEP_VERBS[verb](harness.engine, workflow, step, ANN)
    elif verb in WORKFLOW_VERBS:
        WORKFLOW_VERBS[verb](harness.engine, workflow, ANN)
    else:
        for letter in harness.letters(workflow)[:1]:
            LETTER_VERBS[verb](harness.engine, letter.id, ANN)
