"""One run of the outage: workflows come in, the service they need goes down and comes back."""

from __future__ import annotations

import importlib
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from remand_app.cli.context import USER_VARIABLE
from remand_app.cli.local_stack import LocalStack, Size
from remand_app.config import load_settings
from remand_app.config.sources import CONFIG_VARIABLE
from remand_app.demo.checks import DemoFailed
from remand_app.demo.environment import ExampleServer, environment
from remand_app.demo.outage_figures import Figures, Seen, collect
from remand_app.embedded.processes import ProcessExit
from remand_app.engine.submit import SubmitRequest, submit_many
from remand_app.store.database import Database
from remand_app.store.workflows import states_of

TEMPLATE = "outage/booking"
SWEEP_SECONDS = 0.25
"""Between two ring sweeps: what is due, or let go, waits no longer than that."""
_SIZE = Size(1, 4)
_START_SECONDS = 90.0
_DRAIN_SECONDS = 120.0
_TICK_SECONDS = 0.02
_LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens, the same in every run. Seconds count from the first workflow."""

    workflows: int = 500
    up_seconds: float = 1.0
    """How long all is well at first."""
    down_seconds: float = 12.0
    """How long the service is down; workflows keep coming for as long."""
    failures: int = 10
    """How many open the breaker."""
    release_per_second: float = 50.0
    seed: int = 1

    @property
    def most_per_second(self) -> float:
        """Return how many calls any one second may see after the service is back.

        What is released in it, what the sweep before it was owed, and as much that workers were late with.
        """
        return self.release_per_second * (1 + 2 * SWEEP_SECONDS)

    def arrivals(self) -> list[float]:
        """Return when each workflow comes: at random, the same for the same seed, in order."""
        drawn = random.Random(self.seed)
        return sorted(drawn.uniform(0, self.up_seconds + self.down_seconds) for _ in range(self.workflows))


@dataclass(frozen=True, slots=True)
class Moment:
    """What a run reports while it goes on."""

    phase: str
    submitted: int
    states: Counter[str]


Tell = Callable[[Moment], None]


def _inspect_nothing(_database: Database) -> None:
    pass


def play(
    plan: Plan,
    folder: Path,
    *,
    guarded: bool,
    tell: Tell,
    inspect: Callable[[Database], None] = _inspect_nothing,
) -> Figures:
    """Run the outage once, with breakers and budgets or without, and return what it cost.

    `inspect` may look at the database when all has ended and nothing is stopped yet.

    Raises:
        DemoFailed: a program died, or the workflows did not come to an end.
    """
    folder.mkdir()
    variables = _environment(folder, _settings(plan, guarded=guarded))
    deaths: list[ProcessExit] = []
    with (
        environment(variables, hide="REMAND_"),
        LedgerService() as service,
        LocalStack(load_settings(), None, _SIZE, deaths.append) as stack,
    ):
        tell(Moment("starting", 0, Counter()))
        _start(stack, service)
        run = _Run(plan, stack, service, tell)
        run.perform()
        if deaths:
            raise DemoFailed([f"{death.name} ended with {death.returncode}" for death in deaths])
        inspect(stack.runtime.database)
        return collect(stack.runtime.database, run.ids, Seen.of(service.record()))


class LedgerService(ExampleServer):
    """The service that goes down."""

    def __init__(self) -> None:
        super().__init__("remand_examples.outage.ledger", url_variable="LEDGER_API_URL")

    def switch(self, state: str) -> None:
        """Take it "down" or bring it "up"."""
        self._client().switch(state)

    def record(self) -> dict[str, Any]:
        """Return what it saw."""
        record: dict[str, Any] = self._client().record()
        return record

    def _client(self) -> Any:
        return importlib.import_module("remand_examples.outage.ledger_client")


class _Run:
    """Submits, switches and looks, in one thread: the one that the stack belongs to."""

    def __init__(self, plan: Plan, stack: LocalStack, service: LedgerService, tell: Tell) -> None:
        self._plan = plan
        self._fleet = stack
        self._service = service
        self._tell = tell
        self._phase = "up"
        self._look_at = 0.0
        self._under_way = 0
        self.ids: list[UUID] = []

    def perform(self) -> None:
        """Play all of it.

        Raises:
            DemoFailed: it did not come to an end.
        """
        plan = self._plan
        begun = time.monotonic()
        arrivals = plan.arrivals()
        switches = [
            (plan.up_seconds, "down", "down"),
            (plan.up_seconds + plan.down_seconds, "up", "back"),
        ]
        while switches or len(self.ids) < plan.workflows:
            now = time.monotonic() - begun
            if switches and now >= switches[0][0]:
                _, state, self._phase = switches.pop(0)
                self._service.switch(state)
            self._submit(sum(at <= now for at in arrivals) - len(self.ids))
            self._look()
            time.sleep(_TICK_SECONDS)
        self._drain()

    def _submit(self, count: int) -> None:
        first = len(self.ids) + 1
        requests = [SubmitRequest({"number": n, "amount": 100 + n}) for n in range(first, first + count)]
        if requests:
            answers = submit_many(self._fleet.runtime.engine, TEMPLATE, requests, by="demo")
            self.ids += [answer.workflow_id for answer in answers]

    def _drain(self) -> None:
        deadline = time.monotonic() + _DRAIN_SECONDS
        while under_way := self._look():
            if time.monotonic() > deadline:
                raise DemoFailed([f"{under_way} workflows are under way after {_DRAIN_SECONDS:g} s"])
            time.sleep(_TICK_SECONDS)

    def _look(self) -> int:
        """Tell how it goes, every now and then; return how many workflows were under way last."""
        if time.monotonic() >= self._look_at:
            self._fleet.check()
            states = states_of(self._fleet.runtime.database, self.ids)
            self._under_way = sum(not (state.is_final or state.needs_person) for state in states.values())
            self._tell(Moment(self._phase, len(self.ids), Counter(map(str, states.values()))))
            self._look_at = time.monotonic() + _LOOK_SECONDS
        return self._under_way


def _start(stack: LocalStack, service: LedgerService) -> None:
    stack.start_servers()
    stack.prepare()
    service.wait_ready()
    stack.start_workers()
    if not stack.wait_until_heard(_START_SECONDS):
        raise DemoFailed([f"the workers are not up after {_START_SECONDS:g} s; see {stack.logs}"])


def _settings(plan: Plan, *, guarded: bool) -> str:
    # When the stack stops, all work has ended: there is nothing to wait for.
    both = f"ring_interval_seconds = {SWEEP_SECONDS}\nshutdown_grace_seconds = 1\n\n"
    if not guarded:
        return f"{both}[breaker]\nenabled = false\n\n[retry_budget]\nenabled = false\n"
    return (
        f"{both}[breaker]\n"
        f"failures = {plan.failures}\n"
        "failure_ratio = 0.1\n"
        "window_seconds = 20\n"
        "cool_down_seconds = 2\n"
        "cool_down_cap_seconds = 4\n"
        f"release_per_second = {plan.release_per_second}\n"
    )


def _environment(folder: Path, settings: str) -> dict[str, str]:
    examples = next(iter(importlib.import_module("remand_examples").__path__))
    (folder / "remand.toml").write_text(settings)
    return {
        CONFIG_VARIABLE: str(folder / "remand.toml"),
        "REMAND_DATA_DIR": str(folder),
        "REMAND_HANDLERS": "remand_examples.outage.handlers",
        "REMAND_TEMPLATES": str(Path(examples, "outage")),
        # Calls are compared, not disks: a slow disk would limit the number of calls.
        "PGOPTIONS": "-c synchronous_commit=off",
        USER_VARIABLE: os.environ.get(USER_VARIABLE) or "ada",
    }
