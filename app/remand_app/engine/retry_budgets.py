"""Limit the retries of a batch to the budgets of their handlers: excess retries wait, none is dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from remand_app.domain.breaker import longest_window, resolve_breaker
from remand_app.domain.retry_budget import BudgetSpec, spread
from remand_app.engine.engine import Engine
from remand_app.store import attempt_counts, retry_budgets
from remand_app.store.attempt_counts import Source
from remand_app.store.database import Connection
from remand_app.store.failures import DecidedRetry
from remand_app.store.retry_budgets import Budget

_SLACK_SECONDS = 60.0
"""How much longer counts are kept than anybody looks back: clocks and transactions differ."""


def counted(retry: DecidedRetry) -> bool:
    """Return whether a retry counts: a lost worker is no handler's fault, and its steps run again at once."""
    return retry.failed.outcome != "lost"


def hold_to_budget(
    connection: Connection,
    retries: Sequence[tuple[Source, DecidedRetry]],
    spec: BudgetSpec,
    now: datetime,
) -> list[DecidedRetry]:
    """Return the retries; those beyond the budget of their handler are delayed to their turns.

    No retry is delayed beyond the time for which its step may go on failing.

    Transaction: joins, and holds the budgets' rows to its end. At most two statements.
    """
    held = [retry for _, retry in retries]
    groups: dict[Budget, list[int]] = defaultdict(list)
    for place, (source, retry) in enumerate(retries):
        if counted(retry):
            groups[Budget(source.namespace, source.handler)].append(place)
    if not groups or not spec.enabled:
        return held
    used = retry_budgets.lock(connection, groups, spec.window_seconds, now)
    lines: dict[Budget, datetime] = {}
    for key, places in groups.items():
        spreading = spread([held[place].due_at for place in places], used[key], spec, now=now)
        for place, delay in zip(places, spreading.delays, strict=True):
            held[place] = _put_off(held[place], delay, key, spreading.explanation)
        if spreading.next_at is not None:
            lines[key] = spreading.next_at
    retry_budgets.keep(connection, lines)
    return held


def forget_traffic(engine: Engine) -> int:
    """Delete counts that no window of a breaker or a budget reaches; return how many rows.

    Transaction: own. Idempotent.
    """
    settings = engine.settings
    breakers = [resolve_breaker(settings.breaker, own) for own in settings.breakers.values()]
    longest = max(
        longest_window([resolve_breaker(settings.breaker), *breakers]), settings.retry_budget.window_seconds
    )
    return attempt_counts.forget(engine.database, engine.clock, longest + _SLACK_SECONDS)


def _put_off(retry: DecidedRetry, delay: timedelta, key: Budget, why: str) -> DecidedRetry:
    if retry.latest is not None:
        delay = max(timedelta(0), min(delay, retry.latest - retry.due_at))
    if not delay:
        return retry
    spent = f"the retry budget of {key.namespace}/{key.handler} is spent ({why})"
    return replace(
        retry,
        due_at=retry.due_at + delay,
        put_off=delay,
        explanation=f"{retry.explanation}; {spent}: {round(delay.total_seconds(), 1):g} s later",
    )
