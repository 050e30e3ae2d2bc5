"""Who calls a verb over the broker: recognised by the token in the message's header, else by a claim.

A refusal is reported to the sender and recorded: in the log each time, in the audit log once a minute for
each verb and sender. Source: E6.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from remand.errors import RemandError
from remand_app.domain.access import Identity
from remand_app.domain.celery_protocol import TOKEN
from remand_app.domain.commands import CLAIMED, actor, check_command
from remand_app.domain.errors import NotAllowed, NotSignedIn, TextInvalid
from remand_app.engine import signin
from remand_app.engine.operate import Who
from remand_app.store import audit
from remand_app.store.audit import Entry
from remand_app.store.database import NOT_NOW
from remand_app.telemetry import log
from remand_workers import process

UNNAMED: Final = "celery"
"""The name of a caller who gives none."""
_AGAIN_SECONDS: Final = 60.0
_MOST_KNOWN: Final = 1000
_sender: ContextVar[Identity | None] = ContextVar("sender", default=None)


@contextmanager
def admitted(name: str, request: Any, by: object) -> Iterator[None]:
    """Run a verb as its sender; `by`: who the message says the sender is.

    Raises:
        NotSignedIn: it needs a token, or has one that is no good.
        NotAllowed: the token does not reach so far.
    """
    token, sender = _taken(request), None
    try:
        sender = None if token is None else _recognised(token)
        check_command(name, process.runtime().settings.commands.access, sender)
    except (NotSignedIn, NotAllowed) as error:
        _refuse(name, _shown(sender, by), error)
        raise
    entered = _sender.set(sender)
    try:
        yield
    finally:
        _sender.reset(entered)


def who(by: str, reason: str | None = None) -> Who:
    """Return who calls the verb that runs now.

    Raises:
        TextInvalid: the name or the reason is no text that can be stored and shown.
    """
    return Who(actor(_sender.get(), by), reason, via="celery")


def _taken(request: Any) -> str | None:
    """Return the token of a request, and remove it, so that it is not shown or copied with the request."""
    (request.headers or {}).pop(TOKEN, None)
    token: str | None = request.__dict__.pop(TOKEN, None)
    return token


def _recognised(token: str) -> Identity:
    identity = signin.recognise_token(process.engine(), token)
    if identity is None:
        raise NotSignedIn("this token is unknown, revoked or expired", hint="see `remand token list`")
    return identity


def _shown(sender: Identity | None, by: object) -> Who:
    try:
        return Who(actor(sender, by if isinstance(by, str) else UNNAMED), via="celery")
    except TextInvalid:
        return Who(f"{CLAIMED}{UNNAMED}", via="celery")


class _Known:
    """What was recorded within the last minute."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def is_new(self, key: tuple[str, str]) -> bool:
        """Say whether the event was last recorded a minute ago or never, and remember it from now on."""
        now = time.monotonic()
        with self._lock:
            if now - self._at.get(key, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
                return False
            if len(self._at) >= _MOST_KNOWN:
                self._at.clear()
            self._at[key] = now
            return True


_known = _Known()


def _refuse(name: str, sender: Who, error: RemandError) -> None:
    log("command.refused", command=name, by=sender.by, code=error.code)
    if not _known.is_new((name, sender.by)):
        return
    entry = Entry("command.refuse", "command", name, after={"code": error.code})
    try:
        with process.runtime().database.begin() as connection:
            now = process.engine().now(connection)
            audit.record(connection, entry, by=sender.by, via=sender.via, reason=error.message, now=now)
    except NOT_NOW:
        return  # The sender and the log have been told.
