"""Manage access: users, tokens and one-time sign-in links. Each change is one audited transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from argon2 import PasswordHasher

from remand_app.config.web import is_loopback
from remand_app.domain.access import (
    HINT_LENGTH,
    OWN_NAME,
    TOKEN_PREFIX,
    Identity,
    Permission,
    Role,
    Token,
    User,
    account_name,
    digest,
    permissions,
    problem_of_password,
)
from remand_app.domain.errors import AccessInvalid, NameTaken, NobodyCouldSignIn, UserNotFound
from remand_app.engine.engine import Engine
from remand_app.engine.operate import Who
from remand_app.store import access, audit, sessions
from remand_app.store.audit import Entry
from remand_app.store.database import Connection
from remand_app.telemetry import log

CODE_SECONDS = 600
"""Seconds for which a one-time sign-in link is valid."""
HASHER = PasswordHasher()


def add_user(engine: Engine, name: str, role: Role, password: str, who: Who) -> User:
    """Add a user who can sign in.

    Raises:
        AccessInvalid: the name or the password will not do.
        NameTaken: there is a user of that name.
    """
    wanted = _checked_new_name(name)
    hashed = hash_password(password, wanted)
    with engine.database.begin() as connection:
        now = engine.now(connection)
        if not access.add_user(connection, wanted, role, hashed, by=who.by, now=now):
            raise NameTaken(f"there is a user {wanted!r} already", hint="see `remand user list`")
        user = access.lock_user(connection, wanted)
        _record(connection, now, who, Entry("user.add", "user", wanted, after={"role": str(role)}))
    log("access.changed", verb="user.add", subject=wanted, by=who.by)
    return user


def set_role(engine: Engine, name: str, role: Role, who: Who) -> User:
    """Give a user another role. Open sessions get it, too; earlier sign-in links stop working. Idempotent.

    Raises:
        UserNotFound: nobody has that name.
    """
    return _change_user(engine, name, who, "user.set_role", {"role": str(role)}, role=str(role))


def set_password(engine: Engine, name: str, password: str, who: Who) -> User:
    """Give a user another password and sign them out everywhere.

    Raises:
        UserNotFound: nobody has that name.
        AccessInvalid: the password will not do.
    """
    hashed = hash_password(password, _checked_name(name))
    with engine.database.begin() as connection:
        now = engine.now(connection)
    return _change_user(
        engine, name, who, "user.set_password", {}, signs_out=True, password_hash=hashed, password_at=now
    )


def disable_user(engine: Engine, name: str, who: Who) -> User:
    """Sign a user out everywhere and refuse further sign-ins. Idempotent.

    Raises:
        UserNotFound: nobody has that name.
    """
    with engine.database.begin() as connection:
        now = engine.now(connection)
    return _change_user(
        engine, name, who, "user.disable", {"disabled": True}, signs_out=True, disabled_at=now
    )


def enable_user(engine: Engine, name: str, who: Who) -> User:
    """Let a disabled user sign in again, with the same password. Idempotent.

    Raises:
        UserNotFound: nobody has that name.
    """
    return _change_user(engine, name, who, "user.enable", {"disabled": False}, disabled_at=None)


def create_token(
    engine: Engine,
    name: str,
    role: Role,
    who: Who,
    *,
    scopes: Iterable[Permission] | None = None,
    expires_in: timedelta | None = None,
) -> tuple[Token, str]:
    """Create a token. Return its stored record and the token itself, which is shown only this once.

    Raises:
        AccessInvalid: the name will not do, or a scope is beyond the role.
        NameTaken: a token that is not revoked has the name.
    """
    wanted = _checked_name(name)
    left = _checked_scopes(role, scopes)
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    with engine.database.begin() as connection:
        now = engine.now(connection)
        token = access.add_token(
            connection,
            wanted,
            digest(secret),
            secret[:HINT_LENGTH],
            role=role,
            scopes=left,
            expires_at=None if expires_in is None else now + expires_in,
            by=who.by,
            now=now,
        )
        if token is None:
            raise NameTaken(
                f"there is a token {wanted!r} already", hint=f"revoke it: remand token revoke {wanted}"
            )
        _record(connection, now, who, Entry("token.create", "token", wanted, after=_told(token)))
    log("access.changed", verb="token.create", subject=wanted, by=who.by)
    return token, secret


def keep_token(
    engine: Engine,
    name: str,
    role: Role,
    who: Who,
    held: str | None,
    *,
    scopes: Iterable[Permission] | None = None,
    expires_in: timedelta | None = None,
) -> str | None:
    """Return a new token, or None if the held token is valid and grants exactly these rights.

    Idempotent. Before a new token is made, every token of that name is revoked.

    Raises:
        AccessInvalid: the name will not do, or a scope is beyond the role.
        NameTaken: somebody else makes one of that name at this moment.
    """
    wanted = _checked_name(name)
    left = _checked_scopes(role, scopes)
    if held:
        holder = access.recognise_token(engine.database, digest(held), engine.clock.fixed())
        if holder == Identity(f"token:{wanted}", role, None if left is None else frozenset(left)):
            return None
    for token in access.list_tokens(engine.database):
        if token.name == wanted:
            revoke_token(engine, str(token.id), who)
    return create_token(engine, wanted, role, who, scopes=left, expires_in=expires_in)[1]


def revoke_token(engine: Engine, name_or_id: str, who: Who) -> Token:
    """Revoke a token: its next request is refused.

    Raises:
        TokenNotFound: no such token, or it was revoked before.
    """
    with engine.database.begin() as connection:
        now = engine.now(connection)
        token = access.revoke_token(connection, name_or_id, now=now)
        _record(connection, now, who, Entry("token.revoke", "token", token.name, before=_told(token)))
    log("access.changed", verb="token.revoke", subject=token.name, by=who.by)
    return token


def create_login_code(engine: Engine, name: str, role: Role, who: Who) -> str:
    """Return a code that signs a user in once, within ten minutes.

    A user who does not exist yet is added, with that role and a random password that nobody knows: every
    session belongs to an account, through which it can be ended. An existing user keeps their role.

    Raises:
        AccessInvalid: the name will not do.
        UserNotFound: the user may not sign in.
    """
    code, wanted = secrets.token_urlsafe(32), _checked_name(name)
    is_new = access.role_of(engine.database, wanted) is None
    if is_new:
        _checked_new_name(name)
    hashed = HASHER.hash(secrets.token_urlsafe(32)) if is_new else ""
    with engine.database.begin() as connection:
        now = engine.now(connection)
        is_added = is_new and access.add_user(connection, wanted, role, hashed, by=who.by, now=now)
        user = access.lock_user(connection, wanted)
        if user.disabled_at is not None:
            raise UserNotFound(f"no user {wanted!r} who may sign in", hint=f"remand user enable {wanted}")
        sessions.add_code(
            connection, digest(code), user.name, user.role, now + timedelta(seconds=CODE_SECONDS)
        )
        after = {"role": str(user.role), **({"added": True} if is_added else {})}
        _record(connection, now, who, Entry("login_link.create", "user", user.name, after=after))
    log("access.changed", verb="login_link.create", subject=user.name, by=who.by)
    return code


def check_reach(engine: Engine, host: str) -> None:
    """Refuse to listen on an address that others can reach before anybody can sign in. Transaction: own.

    Raises:
        NobodyCouldSignIn: the address is not loopback, and there is neither user nor token.
    """
    if is_loopback(host) or access.is_anybody_there(engine.database, engine.clock.fixed()):
        return
    raise NobodyCouldSignIn(
        f"will not listen on {host}: others could reach it, and there is nobody yet who may sign in",
        hint="first: remand user add NAME --role admin, or remand token create NAME; or listen on 127.0.0.1",
        details={"host": host},
    )


def hash_password(password: str, name: str) -> str:
    """Return the hash to store for a password.

    Raises:
        AccessInvalid: it will not do.
    """
    problem = problem_of_password(password, name)
    if problem is not None:
        raise AccessInvalid(
            f"the password {problem}", hint="take a sentence, or let a password manager make one"
        )
    return HASHER.hash(password)


def _change_user(
    engine: Engine,
    name: str,
    who: Who,
    verb: str,
    after: Mapping[str, object],
    *,
    signs_out: bool = False,
    **columns: object,
) -> User:
    with engine.database.begin() as connection:
        user = access.lock_user(connection, _checked_name(name))
        was = {"role": str(user.role), "disabled": user.disabled_at is not None}
        access.change_user(connection, user.id, **columns)
        ended = access.end_sessions(connection, user.id) if signs_out else 0
        sessions.end_codes(connection, user.name)
        before = {key: was[key] for key in after}
        outcome = {**after, "sessions_ended": ended} if signs_out else after
        _record(
            connection, engine.now(connection), who, Entry(verb, "user", user.name, None, before, outcome)
        )
        changed = access.lock_user(connection, user.name)
    log("access.changed", verb=verb, subject=user.name, by=who.by)
    return changed


def _record(connection: Connection, now: datetime, who: Who, entry: Entry) -> None:
    audit.record(connection, entry, by=who.by, via=who.via, reason=who.reason, now=now)


def _told(token: Token) -> dict[str, object]:
    return {
        "role": str(token.role),
        "scopes": None if token.scopes is None else [str(scope) for scope in token.scopes],
        "expires_at": token.expires_at.isoformat() if token.expires_at else None,
    }


def _checked_name(typed: str) -> str:
    name = account_name(typed)
    if name is None:
        raise AccessInvalid(
            f"{typed!r} is no name",
            hint="letters, digits and . _ @ + -, at most 64, a letter or digit first; case does not count",
        )
    return name


def _checked_new_name(typed: str) -> str:
    name = _checked_name(typed)
    if name == OWN_NAME:
        raise AccessInvalid(f"{OWN_NAME} is what the product itself signs as", hint="take another name")
    return name


def _checked_scopes(role: Role, scopes: Iterable[Permission] | None) -> list[Permission] | None:
    if scopes is None:
        return None
    wanted = sorted(set(scopes))
    beyond = [str(scope) for scope in wanted if scope not in permissions(role)]
    if beyond:
        raise AccessInvalid(
            f"a {role} cannot have {', '.join(beyond)}: scopes only narrow a role", details={"scopes": beyond}
        )
    if not wanted:
        raise AccessInvalid("a token without any scope could do nothing")
    return wanted
