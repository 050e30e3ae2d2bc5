"""Own who may do what: roles, permissions, and the one table that says which role each permission needs.

A person or token has a role. A token may be narrower than its role: its scopes name the permissions that are
left. Whether somebody is who he says he is, is no question of this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


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
    QUEUES_READ = "queues:read"
    """Queues and workers."""
    QUEUES_WRITE = "queues:write"
    BREAKERS_READ = "breakers:read"
    BREAKERS_WRITE = "breakers:write"
    TEMPLATES_READ = "templates:read"
    TEMPLATES_WRITE = "templates:write"
    """Pause and resume a template."""
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
        Permission.ADMIN_READ: Role.ADMIN,
        Permission.ADMIN_WRITE: Role.ADMIN,
    }
)
"""Permission → the least role that has it."""


def permissions(role: Role, scopes: Iterable[Permission] | None = None) -> frozenset[Permission]:
    """Return what a role may do, of that only what `scopes` names; None: all of it."""
    held = frozenset(one for one, least in LEAST_ROLE.items() if role.includes(least))
    return held if scopes is None else held & frozenset(scopes)
