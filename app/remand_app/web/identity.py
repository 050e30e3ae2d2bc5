"""Who makes a request, and which permission a route needs.

A route declares what it needs: `caller: Annotated[Caller, Depends(require(Permission.LETTERS_WRITE))]`. The
gate (`auth_middleware.py`) has already found out who the caller is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import HTTPConnection, Request

from remand_app.domain.access import Permission, Role, permissions
from remand_app.domain.errors import NotAllowed, NotSignedIn
from remand_app.engine.operate import Who

_CALLER, _ID = "remand_caller", "remand_request_id"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was recognised."""

    name: str
    role: Role
    scopes: frozenset[Permission] | None = None
    """The permissions that a narrower token leaves of the role; None: all of them."""
    via: str = "api"
    """`api` with a token, `dashboard` with a session: recorded with each decision."""
    csrf: str | None = None
    """What forms of this session must send back; None with a token, which no browser sends by itself."""
    namespaces: frozenset[str] | None = None
    """Namespaces it may see; None: all."""

    def may(self, permission: Permission) -> bool:
        """Say whether the caller has the permission."""
        return permission in permissions(self.role, self.scopes)

    def who(self, reason: str | None = None) -> Who:
        """Return what verbs record: who decides, why, and through which interface."""
        return Who(self.name, reason, self.via)


def require(needed: Permission | Role) -> Callable[[Request], Caller]:
    """Return a dependency that returns the caller, if it has the permission.

    A role is for routes that belong to no area: a token with scopes is refused there, whatever its role.

    Raises (in the route):
        NotSignedIn: nobody is recognised.
        NotAllowed: somebody is, who may not do this.
    """

    def checked(request: Request) -> Caller:
        caller = signed_in(request)
        allow(caller, needed)
        return caller

    return checked


def allow(caller: Caller, needed: Permission | Role) -> None:
    """Check that a caller has a permission.

    Raises:
        NotAllowed: he has not.
    """
    if isinstance(needed, Permission):
        allowed = caller.may(needed)
    else:
        allowed = caller.scopes is None and caller.role.includes(needed)
    if not allowed:
        raise NotAllowed(
            f"{caller.name} may not do this: it needs {needed}",
            hint=f"the role is {caller.role}" + (", narrowed by scopes" if caller.scopes is not None else ""),
            details={"needs": str(needed), "role": str(caller.role)},
        )


def signed_in(request: Request) -> Caller:
    """Return the caller, whoever it is; a dependency for routes that every recognised caller may use.

    Raises:
        NotSignedIn: nobody is recognised.
    """
    caller = caller_of(request)
    if caller is None:
        raise NotSignedIn("nobody is signed in", hint="send `Authorization: Bearer rmd_…`, or sign in")
    return caller


def caller_of(connection: HTTPConnection) -> Caller | None:
    """Return who makes this request; None: nobody is recognised."""
    caller = connection.scope.get("state", {}).get(_CALLER)
    return caller if isinstance(caller, Caller) else None


def remember(connection: HTTPConnection, caller: Caller | None) -> None:
    """Store the caller for the rest of this request."""
    connection.scope.setdefault("state", {})[_CALLER] = caller


def id_of(connection: HTTPConnection) -> str:
    """Return the id of this request, which its log line and its answer carry."""
    return str(connection.scope.get("state", {}).get(_ID, ""))


def remember_id(connection: HTTPConnection, request_id: str) -> None:
    """Store the id for the rest of this request."""
    connection.scope.setdefault("state", {})[_ID] = request_id


def wants_json(connection: HTTPConnection) -> bool:
    """Say whether a program asks: API and metrics answer errors as JSON, the rest as pages."""
    return connection.url.path.startswith(("/api/", "/metrics"))
