"""Circuit breakers: count failures when they are decided, open, probe, and release work at a limited rate.

A breaker never loses work: the steps it holds wait in the run queue, uncounted, until the ring sweep releases
them. No step needs these counts to be correct: if a process dies with its counts, a breaker opens a little
later. Source: B7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TypeVar
from uuid import UUID

from remand_app.domain import breaker as rules
from remand_app.domain.breaker import Breaker, BreakerSpec, Move, resolve_breaker
from remand_app.domain.errors import BreakerNotFound
from remand_app.domain.states import BreakerState
from remand_app.domain.template import Template
from remand_app.engine.bell import Bell
from remand_app.engine.breaker_moves import log_move, notify_opened
from remand_app.engine.engine import Engine
from remand_app.engine.sweeps.passing_over import act_beside, act_passing_over
from remand_app.engine.worker_limits import limits_of
from remand_app.store import breakers as store
from remand_app.store import sweeping
from remand_app.store.attempt_counts import Source
from remand_app.store.breakers import BreakerStatus
from remand_app.store.database import Connection
from remand_app.store.failures import FailedAttempt
from remand_app.telemetry import log

R = TypeVar("R")
HOLD_BATCH = 500
HOLD_ROUNDS = 20
"""Most batches that one sweep puts aside: a faster inflow must not keep the sweep from its other work."""


@dataclass(frozen=True, slots=True)
class Noted:
    """What a batch of decided failures says about the dependencies."""

    failures: Counter[Source] = field(default_factory=Counter)
    """Failures that count against their dependency, to be added to the traffic."""
    probes_failed: Counter[str] = field(default_factory=Counter)
    probes_answered: Counter[str] = field(default_factory=Counter)
    """Probes that failed although the dependency answered."""


@dataclass(frozen=True, slots=True)
class TendResult:
    """What one sweep of the breakers did."""

    held: int = 0
    released: int = 0
    rung: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Passed:
    """What one transaction released; `goes_on`: there is more to do at once."""

    count: int = 0
    queues: Sequence[str] = ()
    goes_on: bool = False
    was_last: bool = False
    move: Move | None = None


class Breakers:
    """The breakers as one process sees them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.spec: Callable[[str], BreakerSpec] = cache(self._resolve)
        """Returns the rules of the breaker of a dependency."""

    def note(self, taken: Iterable[tuple[FailedAttempt, Template]]) -> Noted:
        """Return what failed attempts say about their dependencies. Pure but for the settings."""
        failures: Counter[Source] = Counter()
        failed: Counter[str] = Counter()
        answered: Counter[str] = Counter()
        for attempt, template in taken:
            source = source_of(template, attempt.step, attempt.handler)
            verdict = attempt.failure.classification
            spec = self.spec(source.dependency)
            if rules.counts(verdict.category, verdict.rule, attempt.outcome, spec):
                failures[source] += 1
                failed[source.dependency] += attempt.passed
            elif attempt.passed and attempt.outcome != "lost":
                answered[source.dependency] += 1
        return Noted(failures, +failed, answered)

    def judge(self, noted: Noted) -> None:
        """Open or reopen the breakers as the failures require. Transaction: one a breaker that moves.

        Idempotent: a breaker that has moved meanwhile is left alone.
        """
        self._count_probes(noted.probes_answered, noted.probes_failed)
        for name in self._suspects({source.dependency for source in noted.failures}):
            self._move(name, lambda known, now, name=name: self._trip(name, known, now))  # type: ignore[misc]

    def succeeded(self, names: Iterable[str]) -> None:
        """Count released attempts that succeeded. Transaction: one a half-open one."""
        self._count_probes(Counter(names), Counter())

    def sweep(self, bell: Bell) -> TendResult:
        """Put aside the steps that breakers hold, and release as many as they allow. Transaction: short ones.

        Idempotent: two at once share the work, and the rate is kept by the breaker's own row.
        """
        names = store.gating_breakers(self._engine.database)
        if not names:
            return TendResult()
        held, all_held = self._hold_gated()
        heard = sweeping.heard_queues(
            self._engine.database, limits_of(self._engine.settings), self._engine.clock
        )
        released, rung = 0, set[str]()
        for name in names:
            count, queues = self._tend(name, sorted(heard), all_held=all_held)
            released += count
            rung |= set(queues)
        bell.ring(rung)
        return TendResult(held, released, tuple(sorted(rung)))

    def _resolve(self, name: str) -> BreakerSpec:
        own = self._engine.settings.breakers.get(name)
        return resolve_breaker(self._engine.settings.breaker, *([own] if own is not None else []))

    def _suspects(self, names: set[str]) -> list[str]:
        """Return the names whose counts would open their breaker; checked without a lock first."""
        if not names:
            return []
        with self._engine.database.begin() as connection:
            now = self._engine.now(connection)
            judged = self._judged(connection, sorted(names), now)
            return [name for name, known in judged.items() if self._opening(name, known, now) is not None]

    def _trip(self, name: str, connection: Connection, now: datetime) -> Move | None:
        return self._opening(name, self._judged(connection, [name], now)[name], now)

    def _judged(self, connection: Connection, names: Sequence[str], now: datetime) -> dict[str, store.Judged]:
        return store.judged(connection, {name: self.spec(name).window_seconds for name in names}, now)

    def _opening(self, name: str, known: store.Judged, now: datetime) -> Move | None:
        return rules.after_failures(
            known.breaker,
            name,
            self.spec(name),
            attempts=known.attempts,
            failures=known.failures,
            now=now,
        )

    def _count_probes(self, answered: Counter[str], failed: Counter[str]) -> None:
        names = answered.keys() | failed.keys()
        # A breaker that is releasing steps is left alone: each result would keep the sweep from its row.
        for name in store.probing(self._engine.database, names) if names else ():
            self._after_probes(name, answered[name], failed[name])

    def _after_probes(self, name: str, succeeded: int, failed: int) -> None:
        def decide(connection: Connection, now: datetime) -> Move | None:
            if succeeded and not failed:
                store.count_probes(connection, name, succeeded)
            known = store.lock(connection, name)
            return (
                None if known is None else rules.after_probe(known, self.spec(name), failed=failed, now=now)
            )

        self._move(name, decide)

    def _move(self, name: str, decide: Callable[[Connection, datetime], Move | None]) -> None:
        def act() -> Move | None:
            with self._engine.database.begin() as connection:
                store.lock(connection, name)
                now = self._engine.now(connection)
                move = decide(connection, now)
                if move is None or not store.move(connection, name, move, by="remand", now=now):
                    return None
                notify_opened(self._engine, connection, name, move, by="remand", now=now)
                return move

        move = act_beside(self._engine.database, act, self._gated)
        if move is None:
            return
        log_move(name, move, "remand")
        if move.to_state is BreakerState.OPEN:
            self._hold_gated()

    def _gated(self) -> list[UUID]:
        return sweeping.gated_workflows(self._engine.database)

    def _passing_over(self, act: Callable[[], R]) -> list[R]:
        return act_passing_over(self._engine.database, "ring", act, self._gated)

    def _hold_gated(self) -> tuple[int, bool]:
        """Return how many steps were put aside, and whether those were all."""
        held = 0
        for _ in range(HOLD_ROUNDS):
            count = sum(
                self._passing_over(
                    lambda: store.hold_gated(self._engine.database, self._engine.clock, HOLD_BATCH)
                )
            )
            if count == 0:
                return held, True
            held += count
        return held, False

    def _tend(self, name: str, heard: Sequence[str], *, all_held: bool) -> tuple[int, list[str]]:
        released, rung = 0, list[str]()
        goes_on = True
        while goes_on:
            goes_on = False
            for passed in self._passing_over(lambda: self._tend_once(name, heard, all_held=all_held)):
                if passed.move is not None:
                    log_move(name, passed.move, "remand")
                if passed.was_last:
                    log("breaker.released", breaker=name)
                released += passed.count
                rung += passed.queues
                goes_on |= passed.goes_on
        return released, rung

    def _tend_once(self, name: str, heard: Sequence[str], *, all_held: bool) -> _Passed:
        with self._engine.database.begin() as connection:
            known = store.lock(connection, name, wait=False)
            if known is None:
                return _Passed()
            now = self._engine.now(connection)
            # The probes that succeeded may be enough by now if the settings ask for fewer.
            move = rules.when_due(known, now) or rules.after_probe(known, self.spec(name), failed=0, now=now)
            if move is None:
                return self._release_held(connection, known, now, heard, all_held=all_held)
            store.move(connection, name, move, by="remand", now=now)
            return _Passed(goes_on=True, move=move)

    def _release_held(
        self, connection: Connection, known: Breaker, now: datetime, heard: Sequence[str], *, all_held: bool
    ) -> _Passed:
        name = known.name
        # A probe that no worker would run tells nothing and takes the place of others.
        probing = heard if known.state is BreakerState.HALF_OPEN else None
        allowed = rules.allowance(
            known,
            self.spec(name),
            outstanding=0 if probing is None else store.probes_out(connection, name, probing),
            now=now,
            sweep_seconds=self._engine.settings.interval_seconds("ring"),
        )
        if allowed == 0:
            return _Passed()
        limit = HOLD_BATCH if allowed is None else allowed
        count, queues = store.release_held(connection, name, limit, by="breaker", now=now, probing=probing)
        if known.state is BreakerState.CLOSED:
            if count:
                store.note_release(connection, name, now)
            if all_held and not store.holds_any(connection, name):
                store.end_release(connection, name)
                return _Passed(count, queues, was_last=True)
        return _Passed(count, queues, goes_on=allowed is None and count > 0)


def source_of(template: Template, step: str, handler: str) -> Source:
    """Return the source under which an attempt of a step is counted."""
    known = template.step(step)
    return Source(template.namespace, handler, handler if known is None else known.watched)


def show_breaker(engine: Engine, name: str) -> BreakerStatus:
    """Return a breaker with what it holds. Transaction: own.

    Raises:
        BreakerNotFound: no breaker of that name ever moved.
    """
    breakers = store.listed(engine.database, name)
    if not breakers:
        raise BreakerNotFound(
            f"no breaker {name!r} has ever opened",
            hint="`remand breaker list` shows those that have; every other one is closed",
            details={"breaker": name},
        )
    return breakers[0]
