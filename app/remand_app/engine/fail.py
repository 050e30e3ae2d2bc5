"""Apply the policy of a retry queue to its failed attempts: set a due time, or open a dead letter.

One transaction a batch: take (locked), decide (pure), apply. A crash half way leaves everything as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import assert_never

from remand_app.domain.dead_letters import LetterPolicy
from remand_app.domain.decide import Dead, EndedAttempt, Retry, decide, latest_due
from remand_app.domain.errors import Busy, DatabaseUnreachable
from remand_app.domain.states import DeadReason
from remand_app.engine.attempt_ends import told
from remand_app.engine.breakers import Breakers, source_of
from remand_app.engine.dead_letters import Opened, log_opened, open_letters, policy_of
from remand_app.engine.engine import Engine
from remand_app.engine.retry_budgets import counted, hold_to_budget
from remand_app.engine.routing import Routing
from remand_app.store import attempt_counts, dead_letters, failures
from remand_app.store.attempt_counts import Counts, Source
from remand_app.store.database import NOT_NOW, Connection
from remand_app.store.failures import DecidedDeath, DecidedRetry, FailedAttempt
from remand_app.telemetry import log
from remand_app.telemetry.metrics import RETRIES
from remand_app.telemetry.metrics_buffer import count

BATCH = 100
_POSTPONED = timedelta(minutes=1)
_BUSY_TRIES = 5


@dataclass(slots=True)
class Applied:
    """What one drain of a retry queue did."""

    retried: int = 0
    dead: int = 0
    rung: set[str] = field(default_factory=set)


@dataclass(slots=True)
class DeathOutcome:
    """What became of terminal failures."""

    kept: list[DecidedDeath] = field(default_factory=list)
    """Deaths that get a letter."""
    dropped: list[DecidedDeath] = field(default_factory=list)
    """Deaths without a letter: their workflow ends in error."""
    opened: list[Opened] = field(default_factory=list)


def drain_failures(engine: Engine, queue: str, *, batch: int = BATCH) -> Applied:
    """Decide on every failed attempt of a retry queue until it is dry. Transaction: one a batch.

    Idempotent: a failure that was decided is no longer in the queue; two at once share the work.

    If a failure can be neither decided nor set aside, its error is raised after all others are handled.
    """
    applied = Applied()
    breakers = Breakers(engine)
    size = batch
    busy = 0
    postponed: set[object] = set()
    while True:
        try:
            if _apply_batch(engine, breakers, queue, size, applied) == 0:
                return applied
        except DatabaseUnreachable:
            raise
        except Busy:
            busy += 1
            if busy == _BUSY_TRIES:
                raise
        except Exception as error:
            # The boundary of the queue: a failure that nobody can decide on must not hold up the others.
            if size == 1 and not _set_aside(engine, queue, error, applied):
                head = _postpone(engine, queue)
                if head is None or head in postponed:
                    raise
                postponed.add(head)
            size = 1


def _set_aside(engine: Engine, queue: str, error: Exception, applied: Applied) -> bool:
    """Make a dead letter of the first failure, with what is known of it; return False if that fails, too."""
    try:
        with engine.database.begin() as connection:
            now = engine.now(connection)
            deaths = [_undecided(failed, error) for failed in failures.take_failures(connection, queue, 1)]
            _, outcome = _apply(engine, connection, [], deaths, now, by=queue)
    except NOT_NOW:
        raise
    except Exception as again:  # noqa: BLE001 - as in `drain_failures`
        log("failure.undecided", queue=queue, error=told(again))
        return False
    log_opened(outcome.opened)
    for death in outcome.dropped:
        log_given_up(death)
    applied.dead += len(deaths)
    return True


def _undecided(failed: FailedAttempt, error: Exception) -> DecidedDeath:
    why = f"what to do could not be decided: {told(error)}"
    return DecidedDeath(failed, DeadReason.PERMANENT_FAILURE, why)


def _postpone(engine: Engine, queue: str) -> object:
    with engine.database.begin() as connection:
        return failures.postpone_first(connection, queue, until=engine.now(connection) + _POSTPONED)


def _apply_batch(engine: Engine, breakers: Breakers, queue: str, batch: int, applied: Applied) -> int:
    with engine.database.begin() as connection:
        taken = failures.take_failures(connection, queue, batch)
        if not taken:
            return 0
        now = engine.now(connection)
        retries, deaths, retried = _decide(engine, connection, taken, now)
        rung, outcome = _apply(engine, connection, retries, deaths, now, by=queue)
        noted = breakers.note(
            (failed, engine.templates.get(failed.template_id, connection).template) for failed in taken
        )
        # In one call: a transaction that counts twice would lock the rows out of order.
        attempt_counts.add(connection, _counts(noted.failures, retried), now)
    engine.bell.ring(rung)
    breakers.judge(noted)
    applied.retried += len(retries)
    applied.dead += len(deaths)
    applied.rung |= set(rung)
    for retry in retries:
        _log_retry(retry, now)
        count(RETRIES, retry.failed.policy, retry.failed.failure.classification.category)
    log_opened(outcome.opened)
    for death in outcome.dropped:
        log_given_up(death)
    return len(taken)


def _decide(
    engine: Engine, connection: Connection, taken: Sequence[FailedAttempt], now: datetime
) -> tuple[list[DecidedRetry], list[DecidedDeath], Counter[Source]]:
    routing = Routing(engine.templates, engine.settings)
    retries: list[tuple[Source, DecidedRetry]] = []
    deaths: list[DecidedDeath] = []
    for failed in taken:
        template = engine.templates.get(failed.template_id, connection).template
        spec = routing.spec(template, failed.step)
        decision = decide(ended_attempt(failed), spec, now=now, jitter=engine.jitter())
        match decision:
            case Retry():
                source = source_of(template, failed.step, failed.handler)
                latest = latest_due(failed.failing_since, spec, now=now)
                retry = DecidedRetry(failed, decision.due_at, decision.explanation, latest)
                retries.append((source, retry))
            case Dead():
                deaths.append(DecidedDeath(failed, decision.reason, decision.explanation))
            case _:
                assert_never(decision)
    held = hold_to_budget(connection, retries, engine.settings.retry_budget, now)
    return held, deaths, Counter(source for source, retry in retries if counted(retry))


def _counts(failed: Mapping[Source, int], retried: Mapping[Source, int]) -> dict[Source, Counts]:
    return {
        source: Counts(failures=failed.get(source, 0), retries=retried.get(source, 0))
        for source in {**failed, **retried}
    }


def ended_attempt(failed: FailedAttempt) -> EndedAttempt:
    """Return the facts of a failed attempt that the decision needs.

    Raises:
        ValueError: the stored outcome is none that fails.
        KeyError and others: what is stored of the failure cannot be read.
    """
    if failed.unread is not None:
        raise failed.unread
    if failed.outcome not in ("failed", "timed_out", "lost"):
        raise ValueError(
            f"attempt {failed.attempt} of {failed.step} ended {failed.outcome!r}, which is no failure"
        )
    verdict = failed.failure.classification
    return EndedAttempt(
        outcome=failed.outcome,  # type: ignore[arg-type]  # checked above
        failures=failed.failures,
        lost=failed.lost_attempts,
        category=verdict.category,
        policy=failed.policy,
        retry_after=verdict.retry_after,
        is_nothing_sent=failed.failure.facts.get("nothing_sent") is True,
        failing_since=failed.failing_since,
    )


def _apply(
    engine: Engine,
    connection: Connection,
    retries: Sequence[DecidedRetry],
    deaths: Sequence[DecidedDeath],
    now: datetime,
    *,
    by: str,
) -> tuple[list[str], DeathOutcome]:
    rung: list[str] = []
    outcome = DeathOutcome()
    if retries:
        rung = failures.schedule_retries(connection, retries, by=by, now=now)
    if deaths:
        outcome = split_by_strategy(engine, connection, deaths)
        rung = [*rung, *_woken_by(engine, connection, deaths)]
        failures.fail_steps(connection, deaths, by=by, now=now)
        if outcome.kept:
            outcome.opened = open_letters(
                connection,
                outcome.kept,
                templates=engine.templates,
                settings=engine.settings,
                now=now,
                jitter=engine.jitter,
            )
    return rung, outcome


def _woken_by(engine: Engine, connection: Connection, deaths: Sequence[DecidedDeath]) -> set[str]:
    """Return the queues of steps that may run because of these deaths."""
    templates = {death.failed.template_id for death in deaths}
    woken = (
        engine.templates.get(template_id, connection).template.conditional_queues for template_id in templates
    )
    return set[str]().union(*woken)


def split_by_strategy(
    engine: Engine, connection: Connection, deaths: Sequence[DecidedDeath], *, opens: bool = True
) -> DeathOutcome:
    """Separate deaths that get a letter from the others; a workflow with an open letter keeps it.

    `opens`: False: treat every strategy as `disabled`.
    """
    disabled = [death for death in deaths if not (opens and _policy(engine, connection, death).opens)]
    ids = list({death.failed.workflow_id for death in disabled})
    lettered = dead_letters.workflows_with_open(connection, ids) if ids else set()
    dropped = [death for death in disabled if death.failed.workflow_id not in lettered]
    dropping = {id(death) for death in dropped}
    kept = [death for death in deaths if id(death) not in dropping]
    failures.keep_letters(
        connection,
        [death.failed.workflow_id for death in kept],
        [death.failed.workflow_id for death in dropped],
    )
    return DeathOutcome(kept, dropped)


def _policy(engine: Engine, connection: Connection, death: DecidedDeath) -> LetterPolicy:
    template = engine.templates.get(death.failed.template_id, connection).template
    return policy_of(template, engine.settings)


def log_given_up(death: DecidedDeath) -> None:
    """Say after the commit that a step went to error and got no letter."""
    failed = death.failed
    log(
        "step.given_up",
        workflow_id=str(failed.workflow_id),
        step=failed.step,
        attempt=failed.attempt,
        reason=death.reason,
        category=failed.failure.classification.category,
        error=failed.failure.error_class,
    )


def _log_retry(retry: DecidedRetry, now: datetime) -> None:
    log(
        "step.retry_scheduled",
        workflow_id=str(retry.failed.workflow_id),
        step=retry.failed.step,
        attempt=retry.failed.attempt,
        policy=retry.failed.policy,
        due_at=retry.due_at.isoformat(),
        delay_seconds=round(max(0.0, (retry.due_at - now).total_seconds()), 3),
        put_off_seconds=round(retry.put_off.total_seconds(), 3),
    )
