"""Sign people in and out, and identify the sender of a request.

Wrong passwords are counted in Postgres before they are checked, so that many tries at once, or on several
servers, all count. A browser that signed in before has its own count: others who try the account cannot lock
its owner out. Source: E6.
"""

from __future__ import annotations

import ipaddress
import math
import secrets
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from argon2.exceptions import InvalidHashError, VerificationError

from remand_app.domain.access import (
    MAX_PASSWORD,
    Identity,
    account_name,
    digest,
    login_delay,
)
from remand_app.domain.errors import NotSignedIn, TooManyLogins
from remand_app.engine.access import HASHER
from remand_app.engine.engine import Engine
from remand_app.store import access, sessions
from remand_app.store.database import Connection
from remand_app.store.sessions import DEVICE, Account, Tried
from remand_app.telemetry import log

_ADDRESS_FACTOR = 4
"""Many people may share an address."""
# A check takes 64 MB and all of a core: more at a time would only wait for each other.
_checks = threading.BoundedSemaphore(2)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What a browser gets: the secrets of its session and of itself."""

    identity: Identity
    secret: str
    device: str


def sign_in(
    engine: Engine, typed: str, password: str, *, address: str | None, device: str | None = None
) -> SignedIn:
    """Open a session for a name and password. `device`: what this browser got when somebody signed in.

    Takes as long for an unknown name. Transaction: two, none open while the password is checked.

    Raises:
        NotSignedIn: the name or the password is wrong; it does not say which.
        TooManyLogins: there were too many wrong ones.
    """
    name = account_name(typed)
    account, keys = _count_try(engine, name, address, device)
    if not _is_right(password, account):
        log("access.refused", name=name, why="password", address=address)
        raise NotSignedIn("the name or the password is wrong")
    assert account is not None
    signed = _open(engine, account, keys, address)
    log("access.signed_in", name=account.name, how="password", address=address)
    return signed


def open_link(engine: Engine, code: str, *, address: str | None) -> SignedIn:
    """Open a session for a code that signs in once. Transaction: own.

    Raises:
        NotSignedIn: the code is unknown, used or over, or its account may not sign in.
    """
    secret = secrets.token_urlsafe(32)
    with engine.database.begin() as connection:
        account = _take_code(connection, digest(code), engine.now(connection))
        if account is not None:
            _add_session(engine, connection, account, secret, address)
    if account is None:
        log("access.refused", name=None, why="link", address=address)
        raise NotSignedIn("this link was used, or is too old", hint="links work once, for ten minutes")
    log("access.signed_in", name=account.name, how="link", address=address)
    return SignedIn(Identity(account.name, account.role), secret, "")


def sign_out(engine: Engine, secret: str) -> None:
    """End a session. Transaction: own. Idempotent."""
    with engine.database.begin() as connection:
        name = sessions.end_session(connection, digest(secret))
    if name is not None:
        log("access.signed_out", name=name)


def recognise_token(engine: Engine, token: str) -> Identity | None:
    """Return the identity of a token, None for an invalid one. Transaction: own."""
    return access.recognise_token(engine.database, digest(token), engine.clock.fixed())


def recognise_session(engine: Engine, secret: str) -> Identity | None:
    """Return the identity of a session, None for one that is over. Transaction: own."""
    return sessions.recognise_session(
        engine.database,
        digest(secret),
        idle_seconds=engine.settings.web.session_idle_seconds,
        now=engine.clock.fixed(),
    )


def _take_code(connection: Connection, code_hash: bytes, now: datetime) -> Account | None:
    name = sessions.owner_of_code(connection, code_hash)
    # The account is locked before its code, as whoever changes the account does.
    account = None if name is None else sessions.find_account(connection, name, lock=True)
    return account if account is not None and sessions.take_code(connection, code_hash, now) else None


def _add_session(
    engine: Engine, connection: Connection, account: Account, secret: str, address: str | None
) -> None:
    now = engine.now(connection)
    sessions.add_session(
        connection,
        digest(secret),
        account.name,
        account.role,
        user_id=account.id,
        address=address,
        expires_at=now + timedelta(seconds=engine.settings.web.session_max_seconds),
        now=now,
    )
    sessions.prune(connection, now)


def _count_try(
    engine: Engine, name: str | None, address: str | None, device: str | None
) -> tuple[Account | None, list[str]]:
    """Count a try as a failure before the check; a successful try is taken off the count."""
    with engine.database.begin() as connection:
        keys = _keys(connection, name, address, device)
        # The instant is taken after the locks: of two tries at once one comes after the other.
        tries = sessions.lock_tries(connection, keys, engine.now(connection))
        now = engine.now(connection)
        blocked = max((tried.blocked_until for tried in tries.values() if tried.blocked_until), default=now)
        if blocked <= now:
            counted = {key: _failed(engine, key, tried, now) for key, tried in tries.items()}
            sessions.set_tries(connection, counted, now)
            return (sessions.find_account(connection, name) if name else None), keys
    log("access.refused", name=name, why="too many", address=address)
    raise TooManyLogins(math.ceil((blocked - now).total_seconds()))


def _keys(connection: Connection, name: str | None, address: str | None, device: str | None) -> list[str]:
    if device and name:
        key = _device_key(device)
        if sessions.is_device_of(connection, key, name):
            return [key]
    return [f"account:{name or '?'}", f"address:{_network(address)}"]


def _device_key(device: str) -> str:
    return DEVICE + digest(device).hex()


def _network(address: str | None) -> str:
    """Return the network that one person can be assumed to use: an IPv4 address, a /64 of IPv6."""
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def _failed(engine: Engine, key: str, tried: Tried, now: datetime) -> Tried:
    web = engine.settings.web
    free = web.login_attempts * (_ADDRESS_FACTOR if key.startswith("address:") else 1)
    failures = tried.failures + 1
    delay = login_delay(failures, free, web.login_max_delay_seconds)
    return Tried(failures, now + timedelta(seconds=delay) if delay else None)


def _is_right(password: str, account: Account | None) -> bool:
    stored = account.password_hash if account is not None else _nobodys_hash()
    with _checks:
        try:
            HASHER.verify(stored, password[:MAX_PASSWORD])
        except (VerificationError, InvalidHashError):
            return False
    return account is not None and len(password) <= MAX_PASSWORD


@cache
def _nobodys_hash() -> str:
    return HASHER.hash(secrets.token_urlsafe(32))


def _open(engine: Engine, account: Account, keys: list[str], address: str | None) -> SignedIn:
    secret, device = secrets.token_urlsafe(32), ""
    with engine.database.begin() as connection:
        now = engine.now(connection)
        current = sessions.find_account(connection, account.name, lock=True)
        if current is None or current.password_at != account.password_at:
            raise NotSignedIn("the name or the password is wrong")
        tries = sessions.lock_tries(connection, keys, now)
        sessions.set_tries(connection, {key: _forgiven(key, tried) for key, tried in tries.items()}, now)
        if not keys[0].startswith(DEVICE):
            device = secrets.token_urlsafe(32)
            sessions.add_device(connection, _device_key(device), account.name, now)
        _add_session(engine, connection, current, secret, address)
    return SignedIn(Identity(current.name, current.role), secret, device)


def _forgiven(key: str, tried: Tried) -> Tried:
    # For an address, only this try: otherwise anybody with an account could guess at others for ever.
    if key.startswith("address:"):
        return Tried(max(0, tried.failures - 1), None)
    return Tried(0, None)
