"""Own which commands workers accept over the broker: who may call which verb, which controls are obeyed.

Anyone with access to the broker can send any message. A token identifies the sender, as in the API; what a
message says about its sender without a token is recorded as a claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from remand_app.domain.access import Identity, Permission, permissions
from remand_app.domain.errors import NotAllowed, NotSignedIn

CLAIMED: Final = "claimed:"
"""Prefix of an unverified name: the sender claims it."""


class CommandAccess(StrEnum):
    """Which verbs are served over the broker without a token."""

    OPEN = "open"
    SUBMIT = "submit"
    TOKEN = "token"  # noqa: S105 - a word of the settings


NEEDED: Final[Mapping[str, Permission]] = MappingProxyType(
    {
        "remand.submit": Permission.WORKFLOWS_WRITE,
        "remand.submit_many": Permission.WORKFLOWS_WRITE,
        "remand.get": Permission.WORKFLOWS_READ,
        "remand.cancel": Permission.WORKFLOWS_WRITE,
        "remand.pause": Permission.WORKFLOWS_WRITE,
        "remand.resume": Permission.WORKFLOWS_WRITE,
        "remand.pause_template": Permission.TEMPLATES_WRITE,
        "remand.resume_template": Permission.TEMPLATES_WRITE,
        "remand.retry": Permission.WORKFLOWS_WRITE,
        "remand.resolve": Permission.WORKFLOWS_WRITE,
        "remand.complete": Permission.WORKFLOWS_WRITE,
        "remand.skip": Permission.WORKFLOWS_WRITE,
        "remand.restart": Permission.WORKFLOWS_WRITE,
        "remand.requeue": Permission.LETTERS_WRITE,
    }
)
"""Verb → the permission that a token must have for it: that of its route in the API."""
_BY_SUBMITTERS: Final = frozenset({"remand.submit", "remand.submit_many", "remand.get"})

COMMON_CONTROLS: Final = (
    "ping", "stats", "active", "active_queues", "reserved", "scheduled", "registered", "revoked", "conf",
    "clock", "query_task", "report", "enable_events", "heartbeat",
)  # fmt: skip
"""What `celery inspect`, `celery status` and Flower ask; none changes what a worker does."""


def check_command(name: str, access: CommandAccess, sender: Identity | None) -> None:
    """Make sure that a sender may call a verb; None: its message had no token.

    Raises:
        NotSignedIn: the verb needs a token.
        NotAllowed: the token's role or scopes do not reach so far.
    """
    if sender is None:
        if access is CommandAccess.OPEN or (access is CommandAccess.SUBMIT and name in _BY_SUBMITTERS):
            return
        raise NotSignedIn(
            f"{name} needs a token here",
            hint="make one with `remand token create` and give it: Client(app, token=…), or REMAND_TOKEN",
            details={"access": str(access)},
        )
    needed = NEEDED[name]
    if needed not in permissions(sender.role, sender.scopes):
        raise NotAllowed(
            f"{sender.name} may not call {name}: it needs {needed}",
            hint=f"the role is {sender.role}" + (", narrowed by scopes" if sender.scopes is not None else ""),
            details={"needs": str(needed), "role": str(sender.role)},
        )


def actor(sender: Identity | None, by: str) -> str:
    """Return the name to record: that of the token, else the name the message claims, marked as a claim."""
    return f"{CLAIMED}{by}" if sender is None else sender.name
