"""The whole engine in one process: submits, drains, retry workers and sweeps, played until nothing moves.

Nothing waits: time is the test's clock, bells are a list, and one handler runs after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from remand.handler import Handlers, StepContext
from remand_app.config import Settings
from remand_app.domain.template import load_text
from remand_app.engine.attempt_counter import AttemptCounter
from remand_app.engine.breakers import Breakers
from remand_app.engine.drain_state import Drained
from remand_app.engine.engine import Engine
from remand_app.engine.executor import Executor
from remand_app.engine.fail import Applied, drain_failures
from remand_app.engine.leases import lease_slack
from remand_app.engine.routing import Routing
from remand_app.engine.submit import SubmitRequest, submit, submit_many
from remand_app.engine.sweeps.rescue import Rescued, rescue
from remand_app.engine.sweeps.ring import Rung, ring
from remand_app.store import dead_letters, steps, workflows
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.run_queue import RunQueue
from remand_app.store.templates import Templates
from tests.support.bell import RecordingBell
from tests.support.clock import FakeClock
from tests.support.letters import list_letters
from tests.support.shapes import HANDLER

RETRY_QUEUES = ("retry.exponential", "retry.linear", "retry.immediate", "retry.never")
_PLENTY = 10_000


def settings_for(**settings: object) -> Settings:
    """Return settings that do nothing by wall clock: no early flush, no pause after a restart.

    Breakers and retry budgets are off: a test that lets many steps fail need not mind them; those about them
    turn them on.
    """
    quiet: dict[str, object] = {
        "flush_after_seconds": 10,
        "rescue_pause_after_restart_seconds": 0,
        "breaker": {"enabled": False},
        "retry_budget": {"enabled": False},
    }
    return Settings.model_validate({**quiet, **settings})


def no_jitter() -> float:
    return 0.0


def make_engine(database: Database, clock: FakeClock, bell: RecordingBell, settings: Settings) -> Engine:
    """Return an engine on a fake clock and bell, without jitter."""
    return Engine(
        database=database,
        templates=Templates(database),
        bell=bell,
        clock=clock,
        settings=settings,
        jitter=no_jitter,
    )


def publish(engine: Engine, yaml_text: str) -> None:
    """Publish the template of a YAML text."""
    engine.templates.publish(load_text(yaml_text, "test"))


class Worker:
    """One worker incarnation: registered, alive as long as it beats, with an executor of its own."""

    def __init__(self, harness: Harness, queues: Sequence[str], hostname: str) -> None:
        self.id = new_id()
        self._harness = harness
        engine = harness.engine
        self.queue = RunQueue(
            engine.database,
            engine.clock,
            worker=self.id,
            pid=os.getpid(),
            timeout_seconds=engine.settings.default_step_timeout_seconds,
            slack_seconds=lease_slack(engine.settings),
        )
        self.executor = Executor(
            queue=self.queue,
            handlers=harness.handlers,
            routing=Routing(engine.templates, engine.settings),
            bell=engine.bell,
            settings=engine.settings,
            breakers=Breakers(engine),
            counter=AttemptCounter(engine.database, engine.templates, engine.clock),
            pause=lambda seconds: None,
        )
        engine.database.call(
            "insert into remand.workers (id, hostname, pid, queues, pool, concurrency, version, lock_key,"
            " started_at, heartbeat_at) values (%s, %s, %s, %s, 'solo', 1, 'test', 1, %s, %s)",
            (self.id, hostname, os.getpid(), list(queues), harness.clock.now, harness.clock.now),
        )

    def beat(self) -> None:
        """Say that it is alive now."""
        self._harness.database.call(
            "update remand.workers set heartbeat_at = %s, stopped_at = null where id = %s",
            (self._harness.clock.now, self.id),
        )


class Harness:
    """The engine, one worker of every queue, and the handlers of a test."""

    def __init__(
        self,
        database: Database,
        clock: FakeClock | None = None,
        bell: RecordingBell | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.database = database
        self.clock = clock or FakeClock()
        self.bell = bell or RecordingBell()
        self.settings = settings or settings_for()
        self.engine = make_engine(database, self.clock, self.bell, self.settings)
        self.handlers = Handlers()
        self.queues = ["steps", *RETRY_QUEUES]
        self._worker: Worker | None = None
        # Somebody is there all the time, whatever the clock does: test_unserved has it otherwise.
        self.serve(*self.queues, "remand.maintenance")

    def serve(self, *queues: str) -> None:
        """Note that queues have workers all the time."""
        self.database.call(
            "insert into remand.queue_service (queue, served_at) select unnest(%s), 'infinity'"
            " on conflict (queue) do update set served_at = 'infinity', unserved = '{}'",
            (list(queues),),
        )

    @property
    def worker(self) -> Worker:
        """The worker that consumes every queue."""
        if self._worker is None:
            self._worker = self.new_worker(*self.queues)
        return self._worker

    def new_worker(self, *queues: str, hostname: str = "w1@test") -> Worker:
        """Start another incarnation."""
        return Worker(self, queues or self.queues, hostname)

    def handler(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register a handler for this test alone."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.handlers.add(name, function)
            return function

        return register

    def play(self, **steps: Any) -> list[str]:
        """Give `shapes.HANDLER` a part for each step: a function of the context, or a result; else its name.

        Returns the list to which every run of a step adds the step's name.
        """
        ran: list[str] = []

        def run(ctx: StepContext) -> Any:
            ran.append(ctx.step)
            part = steps.get(ctx.step, ctx.step)
            return part(ctx) if callable(part) else part

        self.handlers.add(HANDLER, run)
        return ran

    def publish(self, yaml_text: str) -> None:
        publish(self.engine, yaml_text)

    def submit(self, ref: str, input: Any = None, **request: Any) -> UUID:  # noqa: A002 - as Request calls it
        return submit(self.engine, ref, SubmitRequest(input, **request), by="test").workflow_id

    def submit_many(self, ref: str, inputs: Iterable[Any]) -> list[UUID]:
        requests = [SubmitRequest(one) for one in inputs]
        return [one.workflow_id for one in submit_many(self.engine, ref, requests, by="test")]

    def drain(self, queue: str = "steps") -> Drained:
        """Answer one bell of a queue of steps."""
        return self.worker.executor.run(queue)

    def drain_failures(self, policy: str) -> Applied:
        """Answer one bell of retry.<policy>."""
        return drain_failures(self.engine, f"retry.{policy}")

    def sweep_ring(self) -> Rung:
        self.worker.beat()
        return ring(self.engine)

    def sweep_rescue(self) -> Rescued:
        return rescue(self.engine)

    def advance(self, seconds: float = 0, **more: float) -> None:
        """Move the clock; the worker stays alive."""
        self.clock.advance(seconds, **more)
        self.worker.beat()

    def run_until_quiet(self) -> None:
        """Answer bells and sweep until nothing moves without time passing."""
        for _ in range(_PLENTY):
            if not (
                self._answer(self.bell.take()) or self.sweep_ring().queues or self.sweep_rescue().attempts
            ):
                return
        raise AssertionError("it never became quiet")

    def run_to_end(self, workflow_id: UUID) -> workflows.Workflow:
        """As `run_until_quiet`, and let time pass to each retry that is due; return the workflow."""
        for _ in range(_PLENTY):
            self.run_until_quiet()
            due = self.database.call("select min(due_at) from remand.run_queue where phase = 'waiting'")[0][0]
            if due is None:
                return self.workflow(workflow_id)
            self.clock.now = max(due, self.clock.now)
            self.worker.beat()
        raise AssertionError("it never ended")

    def _answer(self, rings: list[str]) -> bool:
        for queue in dict.fromkeys(rings):
            if queue.startswith("retry."):
                drain_failures(self.engine, queue)
            else:
                self.drain(queue)
        return bool(rings)

    def workflow(self, workflow_id: UUID) -> workflows.Workflow:
        return workflows.get_workflow(self.database, workflow_id)

    def step(self, workflow_id: UUID, name: str) -> steps.Step:
        return steps.get_step(self.database, workflow_id, name)

    def states(self, workflow_id: UUID) -> dict[str, str]:
        """Return the state of each step, by name."""
        return {one.name: str(one.state) for one in steps.steps_of(self.database, workflow_id)}

    def attempts(self, workflow_id: UUID, step: str | None = None) -> list[steps.Attempt]:
        return steps.attempts_of(self.database, workflow_id, step)

    def moves(self, workflow_id: UUID, step: str | None = None) -> list[str]:
        """Return the moves of a step (None: of the workflow itself) as "event" in order."""
        moves = workflows.moves_of(self.database, workflow_id)
        return [one.event for one in moves if one.step == step]

    def open_letter(self, workflow_id: UUID) -> dead_letters.DeadLetter:
        """Return the one open entry of a workflow."""
        [letter] = list_letters(self.database, workflow_id=workflow_id)
        return dead_letters.get_dead_letter(self.database, letter.id)

    def letters(self, workflow_id: UUID) -> list[dead_letters.DeadLetter]:
        """Return every entry of a workflow, newest first."""
        listed = list_letters(self.database, workflow_id=workflow_id, statuses=())
        return [dead_letters.get_dead_letter(self.database, letter.id) for letter in listed]
