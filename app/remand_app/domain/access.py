"""Own who may do what: roles, permissions, and the one table that says which role each permission needs.

A person or token has a role. A token may be narrower than its role: its scopes name the permissions that are
left. Secrets are compared by their digests. The delay after wrong passwords is decided here, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from uuid import UUID


class Role(StrEnum):
    """What somebody may do, from least to most: each may do what those before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        """Say whether this role may do all that the other may."""
        return _ORDER.index(self) >= _ORDER.index(other)


_ORDER: Final = tuple(Role)


class Permission(StrEnum):
    """An area and whether it is read or changed, written `letters:write`."""

    WORKFLOWS_READ = "workflows:read"
    WORKFLOWS_WRITE = "workflows:write"
    """Submit, cancel, pause, resume; retry, resolve, complete, skip steps."""
    LETTERS_READ = "letters:read"
    """Dead letters, their groups, dead queues, redrives."""
    LETTERS_WRITE = "letters:write"
    """Claim and annotate them; requeue, resolve, give up, cancel what they are about, by redrives, too."""
    QUEUES_READ = "queues:read"
    """Queues, workers, sweeps, the archive, targets of notices, the site's health."""
    QUEUES_WRITE = "queues:write"
    """Pause and resume them; send a target's notices again."""
    BREAKERS_READ = "breakers:read"
    BREAKERS_WRITE = "breakers:write"
    TEMPLATES_READ = "templates:read"
    TEMPLATES_WRITE = "templates:write"
    """Pause and resume a template."""
    METRICS_READ = "metrics:read"
    """The numbers for Prometheus, of all namespaces: no names but those of queues, handlers, dependencies."""
    ADMIN_READ = "admin:read"
    """The audit log, users, tokens, settings in force."""
    ADMIN_WRITE = "admin:write"
    """What changes how the service behaves for everybody: users, tokens, settings of dead queues."""


LEAST_ROLE: Final[Mapping[Permission, Role]] = MappingProxyType(
    {
        Permission.WORKFLOWS_READ: Role.VIEWER,
        Permission.WORKFLOWS_WRITE: Role.OPERATOR,
        Permission.LETTERS_READ: Role.VIEWER,
        Permission.LETTERS_WRITE: Role.OPERATOR,
        Permission.QUEUES_READ: Role.VIEWER,
        Permission.QUEUES_WRITE: Role.OPERATOR,
        Permission.BREAKERS_READ: Role.VIEWER,
        Permission.BREAKERS_WRITE: Role.OPERATOR,
        Permission.TEMPLATES_READ: Role.VIEWER,
        Permission.TEMPLATES_WRITE: Role.OPERATOR,
        Permission.METRICS_READ: Role.VIEWER,
        Permission.ADMIN_READ: Role.ADMIN,
        Permission.ADMIN_WRITE: Role.ADMIN,
    }
)
"""Permission → the least role that has it."""


def permissions(role: Role, scopes: Iterable[Permission] | None = None) -> frozenset[Permission]:
    """Return the permissions of a role, limited to `scopes`; None: no limit."""
    held = frozenset(permission for permission, least in LEAST_ROLE.items() if role.includes(least))
    return held if scopes is None else held & frozenset(scopes)


@dataclass(frozen=True, slots=True)
class Identity:
    """Who was recognised by a token or a session."""

    name: str
    role: Role
    scopes: frozenset[Permission] | None = None


TOKEN_PREFIX: Final = "rmd_"  # noqa: S105 - what every token begins with
HINT_LENGTH: Final = len(TOKEN_PREFIX) + 6
MIN_PASSWORD: Final = 10
MAX_PASSWORD: Final = 256
"""Hashing a longer one would only cost time."""
OWN_NAME: Final = "remand"
"""The name under which the product records its own acts: no user may have it."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")


def digest(secret: str) -> bytes:
    """Return what is stored of a random secret: it has too many values to be guessed from its SHA-256."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def csrf_token(session_secret: str) -> str:
    """Return the token that forms of a session must send back; other sites cannot know it."""
    return hashlib.sha256(b"csrf:" + session_secret.encode("utf-8", "surrogatepass")).hexdigest()


def account_name(typed: str) -> str | None:
    """Return a name as it is stored, None if it is not valid."""
    name = typed.strip().lower()
    return name if _NAME.fullmatch(name) else None


def account_name_like(typed: str) -> str:
    """Return a valid account name for somebody whose own name may not be valid."""
    made = re.sub(r"[^a-z0-9._@+-]+", "-", typed.strip().lower()).strip("._@+-")[:64]
    return made or "operator"


def problem_of_password(password: str, name: str) -> str | None:
    """Say what is wrong with a new password; None: nothing."""
    if len(password) < MIN_PASSWORD:
        return f"is shorter than {MIN_PASSWORD} characters"
    if len(password) > MAX_PASSWORD:
        return f"is longer than {MAX_PASSWORD} characters"
    if name in password.lower() and len(password) < 2 * len(name) + MIN_PASSWORD:
        return "is little more than the name"
    if len(set(password)) < 4:
        return "repeats the same characters"
    return None


def login_delay(failures: int, free: int, longest_seconds: float) -> float:
    """Return how many seconds the next try has to wait after so many wrong passwords in a row.

    One second after `free` of them, then twice as long each time. The delay has a maximum: wrong guesses by
    others cannot lock a person out for ever.
    """
    if failures < free:
        return 0.0
    return float(min(longest_seconds, 2.0 ** min(failures - free, 30)))


# Public JSON: users see each field.
@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may sign in."""

    id: UUID
    name: str
    role: Role
    password_at: datetime
    created_at: datetime
    created_by: str
    disabled_at: datetime | None


# Public JSON: users see each field.
@dataclass(frozen=True, slots=True)
class Token:
    """What a program signs in with; the token itself is not known."""

    id: UUID
    name: str
    hint: str
    role: Role
    scopes: tuple[Permission, ...] | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    used_at: datetime | None
    revoked_at: datetime | None
