"""Verbs on notification targets: show their state, send a test, send again what was given up. Source: D2."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from uuid import UUID

from remand_app.config.notify import NotifyTarget
from remand_app.domain.errors import IllegalMove, NotificationNotFound, TargetNotFound
from remand_app.domain.notifications import DeliveryState
from remand_app.domain.webhook_answers import Outcome
from remand_app.domain.webhook_messages import TEST, Message, Told
from remand_app.engine.engine import Engine
from remand_app.engine.notification_delivery import Post, send_once
from remand_app.engine.operate import Who
from remand_app.engine.webhook import post
from remand_app.store import audit, notification_lists
from remand_app.store.audit import Entry
from remand_app.store.ids import new_id
from remand_app.store.notification_lists import TargetStatus
from remand_app.telemetry import log


def standings(engine: Engine) -> list[TargetStatus]:
    """Return the state of the targets, by name: those of the settings, and others that still have notices."""
    return notification_lists.standings(
        engine.database, [target.name for target in engine.settings.notify.targets]
    )


def try_target(engine: Engine, name: str, send: Post = post) -> Outcome:
    """Send a target a test message, once and now. Transaction: none; nothing is stored.

    Raises:
        TargetNotFound: the settings have no such target.
    """
    target = _target(engine, name)
    at = engine.instant()
    test = Told(TEST, name, "a test: what Remand tells arrives here", {"target": name}, None, at)
    return send_once(target, Message(new_id(), [test], {TEST: 1}), at, send)


def retry(engine: Engine, name: str, who: Who, only: Sequence[UUID] = ()) -> int:
    """Send again the messages that were given up for a target: all, or those of some notices.

    Returns the number of these notices; the sweep sends them. Transaction: own. Idempotent: nothing is left
    to send again.

    Raises:
        TargetNotFound: the settings have no such target.
        NotificationNotFound: it has no such notice.
        IllegalMove: one of them was not given up.
    """
    _target(engine, name)
    messages = [_given_up(engine, name, notification_id) for notification_id in only] if only else None
    with engine.database.begin() as connection:
        now = engine.now(connection)
        count = notification_lists.send_again(connection, name, messages, now)
        if count:
            entry = Entry(
                "notification.retry",
                "notification_target",
                name,
                before={"state": str(DeliveryState.GIVEN_UP)},
                after={"state": str(DeliveryState.PENDING), "count": count},
            )
            audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)
    if count:
        log("notification.retried", target=name, count=count, by=who.by)
    return count


def _target(engine: Engine, name: str) -> NotifyTarget:
    known = {target.name: target for target in engine.settings.notify.targets}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1)
    raise TargetNotFound(
        f"the settings have no target {name!r}",
        hint=f"did you mean {near[0]!r}?" if near else f"they have {', '.join(sorted(known)) or 'none'}",
        details={"target": name},
    )


def _given_up(engine: Engine, name: str, notification_id: UUID) -> UUID:
    row = notification_lists.message_of(engine.database, notification_id)
    if row is None or row[0] != name:
        message = f"target {name} has no notice {notification_id}"
        raise NotificationNotFound(message, hint="see `remand notify list`")
    _, message_id, state = row
    if state is not DeliveryState.GIVEN_UP or message_id is None:
        raise IllegalMove(
            f"notice {notification_id} is {state}: only what was given up is sent again",
            details={"state": str(state)},
        )
    return message_id
