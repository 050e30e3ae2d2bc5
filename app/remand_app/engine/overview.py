"""The state of the whole site, for a person: its queues and breakers. Only reads.

Numbers cover live work: no query here reads finished workflows. Source: B4, B7, A11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

from remand_app.domain import breaker as rules
from remand_app.domain.breaker import Breaker, BreakerSpec
from remand_app.domain.errors import BreakerNotFound
from remand_app.domain.queues import BUILT_IN
from remand_app.domain.states import BreakerState
from remand_app.engine.breakers import Breakers
from remand_app.engine.engine import Engine
from remand_app.engine.pauses import check_known
from remand_app.engine.worker_limits import live_workers
from remand_app.store import breakers as store
from remand_app.store import diagnosis, queue_counts
from remand_app.store.breakers import PastMove
from remand_app.store.pauses import Pause, pauses
from remand_app.store.queue_counts import Waiting


@dataclass(frozen=True, slots=True)
class QueueStanding:
    """A queue: its work, whether it is paused, and the workers that consume it."""

    queue: str
    work: Waiting
    paused: Pause | None
    workers: tuple[str, ...]
    """Node names of the live workers that consume it."""


@dataclass(frozen=True, slots=True)
class BreakerStanding:
    """The breaker of a dependency, with the counts of its window and the steps it holds."""

    name: str
    breaker: Breaker | None
    """None: it never moved, so it is closed."""
    spec: BreakerSpec
    attempts: int
    failures: int
    held: int
    passed: int
    """Steps that were released and have not ended."""
    release_per_second: float | None
    """How fast it releases the steps it held, now; None: it releases none."""

    @property
    def state(self) -> BreakerState:
        """The state of the breaker."""
        return BreakerState.CLOSED if self.breaker is None else self.breaker.state

    @property
    def is_gating(self) -> bool:
        """True while no step of the dependency is claimed unless the breaker released it."""
        return self.breaker is not None and self.breaker.is_gating

    @property
    def probe_at(self) -> datetime | None:
        """When an open breaker probes by itself."""
        return None if self.breaker is None else self.breaker.probe_at


def queues(engine: Engine) -> list[QueueStanding]:
    """Return every queue: the built-in ones, those of templates, those that hold work or are paused.

    Transaction: one for each of four short queries.
    """
    work = {waiting.queue: waiting for waiting in queue_counts.waiting(engine.database, engine.clock)}
    paused = {pause.queue: pause for pause in pauses(engine.database)}
    live = live_workers(engine)
    others = {*queue_counts.step_queues(engine.database), *work, *paused} - {*BUILT_IN}
    return [
        QueueStanding(
            name,
            work.get(name) or Waiting(name, 0, 0, 0, 0, 0, 0, None),
            paused.get(name),
            tuple(worker.hostname for worker in live if name in worker.queues),
        )
        for name in (BUILT_IN[0], *sorted(others), *BUILT_IN[1:])
    ]


def find_queue(engine: Engine, name: str) -> QueueStanding:
    """Return one queue. Transaction: as `queues`.

    Raises:
        QueueNotFound: no such queue is known.
    """
    known = {queue.queue: queue for queue in queues(engine)}
    if name not in known:
        check_known(engine, name)
    return known[name]


def breakers(engine: Engine, *, unmoved: bool = False) -> list[BreakerStanding]:
    """Return the breakers that ever moved, by name; `unmoved`: those of all other dependencies, too.

    Transaction: two or three short ones.
    """
    return _standings(engine, dependencies(engine) if unmoved else None)


def find_breaker(engine: Engine, name: str) -> BreakerStanding:
    """Return the breaker of a dependency, whether it ever moved or not. Transaction: three short ones.

    Raises:
        BreakerNotFound: no template and no setting names the dependency, and no breaker of it ever moved.
    """
    known = dependencies(engine)
    if name not in known:
        near = get_close_matches(name, known, 1)
        raise BreakerNotFound(
            f"no dependency {name!r} is known",
            hint=f"did you mean {near[0]!r}?" if near else "`remand breaker list --all` shows all",
            details={"breaker": name},
        )
    return _standings(engine, [name])[0]


def moves(engine: Engine, name: str, limit: int) -> list[PastMove]:
    """Return the last moves of a breaker, newest first. Transaction: own."""
    return store.moves_of(engine.database, name, limit)


def dependencies(engine: Engine) -> list[str]:
    """Return the dependencies by name: named by templates or settings, or with a breaker that moved once.

    Transaction: two short ones.
    """
    moved = (standing.breaker.name for standing in store.listed(engine.database))
    return sorted({*diagnosis.dependencies(engine.database), *engine.settings.breakers, *moved})


def _standings(engine: Engine, names: Sequence[str] | None) -> list[BreakerStanding]:
    known = {standing.breaker.name: standing for standing in store.listed(engine.database)}
    spec = Breakers(engine).spec
    wanted = list(known) if names is None else list(names)
    with engine.database.begin() as connection:
        now = engine.now(connection)
        judged = store.judged(connection, {name: spec(name).window_seconds for name in wanted}, now)
    made = []
    for name in wanted:
        standing, counted = known.get(name), judged[name]
        breaker = None if standing is None else standing.breaker
        releasing = breaker is not None and breaker.releasing_since is not None and not breaker.release_all
        made.append(
            BreakerStanding(
                name,
                breaker,
                spec(name),
                max(counted.attempts, counted.failures),
                counted.failures,
                0 if standing is None else standing.held,
                0 if standing is None else standing.passed,
                rules.release_rate(breaker, spec(name), now) if breaker and releasing else None,
            )
        )
    return made
