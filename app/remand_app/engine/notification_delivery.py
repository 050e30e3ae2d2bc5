"""Deliver messages to targets: claim, send outside any transaction, settle.

A claim is a lease: if its holder dies, the message is sent again, under the same id. So a target gets each
message at least once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias, assert_never

from remand_app.config.notify import NotifyTarget
from remand_app.domain.errors import NotifyUnfit
from remand_app.domain.notifications import DeliveryState
from remand_app.domain.webhook_answers import Delivered, Outcome, Refused, TryAgain, gate, wait
from remand_app.domain.webhook_messages import SHOWN, Message, body, headers
from remand_app.engine.engine import Engine
from remand_app.engine.webhook import post
from remand_app.store import notification_outbox
from remand_app.store.notification_outbox import Claimed, Settled
from remand_app.telemetry import log

LEASE_SLACK_SECONDS = 30.0
"""How long a claim lasts beyond the timeout of a try: for the name look-up and for recording the end."""

Post: TypeAlias = Callable[[str, bytes, Mapping[str, str], float], Outcome]


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a message that was claimed."""

    claimed: Claimed
    outcome: Outcome


def claim(engine: Engine, target: NotifyTarget) -> Claimed | None:
    """Claim the next message for a target; None: nothing is due, or somebody else is sending.

    Transaction: own. A message that has used up its tries without a recorded answer is given up on the way.
    """
    while True:
        with engine.database.begin() as connection:
            now = engine.now(connection)
            lease = now + timedelta(seconds=target.timeout_seconds + LEASE_SLACK_SECONDS)
            claimed = notification_outbox.claim(connection, target.name, now, lease, SHOWN)
        if claimed is None or claimed.attempt <= target.max_attempts:
            return claimed
        _settle(engine, target, Sent(claimed, Refused(f"no answer on record of {target.max_attempts} tries")))


def deliver(engine: Engine, target: NotifyTarget, claimed: Claimed, send: Post = post) -> Sent:
    """Send what was claimed, once, and settle it. Transaction: a short one after the answer."""
    sent = Sent(claimed, send_once(target, claimed.message, engine.instant(), send))
    _settle(engine, target, sent)
    return sent


def send_once(target: NotifyTarget, message: Message, at: datetime, send: Post = post) -> Outcome:
    """Send a message and return what came of it. Transaction: none."""
    try:
        address = target.address()
    except NotifyUnfit as error:
        return TryAgain(str(error))
    made = body(message, target.format)
    return send(address.url, made, headers(message, made, at, address.key), target.timeout_seconds)


def _settle(engine: Engine, target: NotifyTarget, sent: Sent) -> None:
    message, attempt = sent.claimed.message, sent.claimed.attempt
    fields = {
        "target": target.name,
        "message_id": str(message.id),
        "count": message.count,
        "attempt": attempt,
    }
    with engine.database.begin() as connection:
        now = engine.now(connection)
        failures = notification_outbox.failures_of(connection, target.name)
        ended = _ended(sent, target, failures, now, engine.jitter())
        notification_outbox.settle(connection, target.name, message.id, attempt, ended)
    match sent.outcome:
        case Delivered():
            log("notification.sent", **fields)
        case TryAgain(why) if ended.due_at is not None:
            log("notification.failed", **fields, error=why, due_at=ended.due_at.isoformat())
        case TryAgain(why) | Refused(why):
            log("notification.given_up", **fields, error=why)
        case _:
            assert_never(sent.outcome)


def _ended(sent: Sent, target: NotifyTarget, failures: int, now: datetime, jitter: float) -> Settled:
    pause = timedelta(seconds=target.min_interval_seconds)
    match sent.outcome:
        case Delivered():
            return Settled(now, DeliveryState.SENT, now + pause, 0)
        case Refused(why):
            # The target answered: that it refused this message says nothing about the next.
            return Settled(now, DeliveryState.GIVEN_UP, now + pause, 0, why)
        case TryAgain(why, after):
            shut = now + max(pause, gate(failures + 1, after, jitter))
            if sent.claimed.attempt >= target.max_attempts:
                return Settled(now, DeliveryState.GIVEN_UP, shut, failures + 1, why)
            due_at = now + wait(sent.claimed.attempt, after, jitter)
            return Settled(now, DeliveryState.PENDING, shut, failures + 1, why, due_at)
        case _:
            assert_never(sent.outcome)
