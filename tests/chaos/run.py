"""One run: workflows come in for a while, faults come and go, then all is let be and must come to rest."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Celery

from remand.client import Client, NoAnswer, Refused
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.store import schema
from remand_app.store.database import NOT_NOW, Database
from remand_app.store.ids import new_id
from tests.chaos import faults
from tests.chaos.faults import Ground, Kind, Undo
from tests.chaos.model import Planned, plan, shapes
from tests.chaos.site import ChaosSite
from tests.chaos.verdict import Verdict, judge, under_way
from tests.support.link import Link
from tests.support.own_servers import OwnBroker, OwnPostgres, OwnRabbit

PROGRAMS = ("one", "two", "control", "beat")
_TICK_SECONDS = 0.05
_REST_TICK_SECONDS = 0.5
_BY_CLIENT = 0.15
"""Share of the workflows that come in through the broker, from a Celery app."""
_TEMPORARY = ("DATABASE_UNREACHABLE", "DATABASE_READ_ONLY", "BUSY", "DATABASE_MISSING")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Order:
    """What to run. `seconds`: how long faults come; `pause_seconds`: between the beginnings of two."""

    workflows: int
    seed: int
    seconds: float
    pause_seconds: tuple[float, float]
    kinds: tuple[str, ...] = ()
    """Names of the kinds of fault; none: all that are possible."""
    rest_seconds: float = 600.0
    """How long all may take to come to rest afterwards."""


def run(order: Order, ground: Ground, planned: Sequence[Planned], say: Say) -> Verdict:
    """Run it, with everything on the ground started."""
    site = ground.site
    begun = time.monotonic()
    sender = _Sender(ground, planned, order.seconds, random.Random(order.seed + 1))
    counted = _storm(order, ground, sender, say)
    say("faults are over: waiting until nothing is under way")
    until = time.monotonic() + order.rest_seconds
    while (sender.is_alive() or under_way(site, sender.sent)) and time.monotonic() < until:
        site.supervise()
        time.sleep(_REST_TICK_SECONDS)
    sender.join(1)
    verdict = judge(site, sender.sent, len(planned), [*site.unexpected, *sender.problems])
    verdict.faults = dict(counted)
    verdict.seconds = round(time.monotonic() - begun, 1)
    return verdict


def _storm(order: Order, ground: Ground, sender: _Sender, say: Say) -> Counter[str]:
    """Let faults come and go, several at a time; return how many of each kind there were."""
    bag = _bag(order, ground)
    counted: Counter[str] = Counter()
    going: dict[str, tuple[float, Kind, Undo]] = {}
    started = time.monotonic()
    next_at = started + order.pause_seconds[0]
    sender.start()
    while going or (now := time.monotonic()) < started + order.seconds:
        now = time.monotonic()
        ground.site.supervise()
        for taken, (over_at, kind, undo) in list(going.items()):
            if now >= over_at:
                del going[taken]
                undo()
                say(f"{now - started:6.1f} s  over: {kind.name} ({taken})")
        if next_at <= now < started + order.seconds:
            next_at = now + ground.rng.uniform(*order.pause_seconds)
            kind = next(bag)
            free = [name for name in kind.on if name not in going]
            if free:
                taken = ground.rng.choice(free)
                say(f"{now - started:6.1f} s  {kind.name} ({taken})")
                with faults.taking(taken):
                    undo = kind.begin(ground)
                counted[kind.name] += 1
                if undo is not None:
                    going[taken] = (now + ground.rng.uniform(*kind.seconds), kind, undo)
        time.sleep(_TICK_SECONDS)
    return counted


def _bag(order: Order, ground: Ground) -> Iterator[Kind]:
    """Yield kinds for ever: all of them in some order, then again in another."""
    possible = [kind for kind in faults.kinds_on(ground) if not order.kinds or kind.name in order.kinds]
    while True:
        yield from ground.rng.sample(possible, len(possible))


@dataclass
class _Sender:
    """Submits what is planned, evenly over a while, each until it is known to be stored."""

    ground: Ground
    planned: Sequence[Planned]
    seconds: float
    rng: random.Random
    sent: dict[UUID, Planned] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._send_all, daemon=True)
        self.start, self.is_alive, self.join = self._thread.start, self._thread.is_alive, self._thread.join

    def _send_all(self) -> None:
        begun = time.monotonic()
        with Celery("shop", broker=self.ground.to_broker.url, set_as_current=False) as shop:
            client = Client(shop, timeout=3)
            for number, planned in enumerate(self.planned):
                time.sleep(max(0.0, begun + self.seconds * number / len(self.planned) - time.monotonic()))
                workflow_id = new_id()
                self.sent[workflow_id] = planned
                by_client = self.rng.random() < _BY_CLIENT
                send = partial(self._by_client, client) if by_client else self._direct
                while not self._is_sent(send, workflow_id):
                    time.sleep(0.2)

    def _is_sent(self, send: Callable[[UUID], bool], workflow_id: UUID) -> bool:
        try:
            return send(workflow_id)
        except Exception as error:
            told = traceback.format_exception(error)
            self.problems.append(f"a submit ended with what it does not name: {''.join(told[-6:])}")
            return False

    def _direct(self, workflow_id: UUID) -> bool:
        planned = self.sent[workflow_id]
        try:
            submit(
                self.ground.site.engine,
                planned.shape.ref,
                SubmitRequest(dict(planned.input), id=workflow_id),
                by="chaos",
            )
        except NOT_NOW:
            return False
        return True

    def _by_client(self, client: Client, workflow_id: UUID) -> bool:
        planned = self.sent[workflow_id]
        try:
            client.submit(planned.shape.ref, dict(planned.input), workflow_id=str(workflow_id))
        except NoAnswer:
            return False
        except Refused as refusal:
            if refusal.code not in _TEMPORARY:
                self.problems.append(f"a submit was refused: {refusal.code}: {refusal}")
            return False
        return True


@contextmanager
def own_ground(
    folder: Path, order: Order, *, broker: str = "redis", broker_url: str = "", database_url: str = ""
) -> Iterator[tuple[Ground, list[Planned]]]:
    """Start a site on servers of its own, but where URLs name others: of these only the network breaks.

    `broker`: redis, rabbitmq.
    """
    rng = random.Random(order.seed)
    among = shapes(rng)
    with ExitStack() as stack:
        server: Any = None
        postgres = None
        if not broker_url:
            server = OwnBroker(folder, keeps=True) if broker == "redis" else OwnRabbit(folder)
            stack.callback(server.stop)
            server.start()
            broker_url = server.url
        if not database_url:
            postgres = OwnPostgres(folder)
            stack.callback(postgres.stop)
            postgres.start()
            database_url = postgres.url
            migrated = Database(database_url)
            schema.migrate(migrated)
            migrated.dispose()
        links = (stack.enter_context(Link(database_url)), stack.enter_context(Link(broker_url)))
        at = folder / "site"
        at.mkdir()
        site = stack.enter_context(ChaosSite(at, (database_url, broker_url), links, among))
        for name in PROGRAMS:
            site.start_program(name)
        site.ready("one", "two", "control")
        yield Ground(site, rng, *links, postgres, server), plan(rng, among, order.workflows)
