"""Sessions, one-time sign-in links, and recent failures to sign in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from remand_app.domain.access import Identity, Role
from remand_app.store.database import Database
from remand_app.store.tables import login_attempts, login_codes, sessions, users

FORGOTTEN_AFTER = timedelta(minutes=15)
"""Wrong passwords count as "in a row" no longer than this."""
_DEVICES_KEPT = timedelta(days=90)
_KEPT = timedelta(days=1)
DEVICE = "device:"
_RECOGNISED = """
    select users.name, users.role, sessions.seen_at < clock.now - make_interval(secs => %s)
    from remand.sessions
    join remand.users on users.id = sessions.user_id
    cross join coalesce(%s, clock_timestamp()) as clock (now)
    where sessions.token_hash = %s
      and sessions.expires_at > clock.now
      and sessions.seen_at > clock.now - make_interval(secs => %s)
      and users.disabled_at is null
      and sessions.created_at >= users.password_at
"""


@dataclass(frozen=True, slots=True)
class Account:
    """What it takes to check a password."""

    id: UUID
    name: str
    role: Role
    password_hash: str
    password_at: datetime


def find_account(connection: sa.Connection, name: str, *, lock: bool = False) -> Account | None:
    """Return the account of a user who may sign in."""
    query = sa.select(*(users.c[column] for column in Account.__slots__)).where(
        users.c.name == name, users.c.disabled_at.is_(None)
    )
    row = connection.execute(query.with_for_update(read=True) if lock else query).first()
    return (
        None if row is None else Account(row.id, row.name, Role(row.role), row.password_hash, row.password_at)
    )


def add_session(
    connection: sa.Connection,
    token_hash: bytes,
    name: str,
    role: Role,
    *,
    user_id: UUID,
    address: str | None,
    expires_at: datetime,
    now: datetime,
) -> None:
    """Store a session."""
    connection.execute(
        sa.insert(sessions).values(
            token_hash=token_hash, user_id=user_id, name=name, role=role, created_at=now, seen_at=now,
            expires_at=expires_at, address=address,
        )
    )  # fmt: skip


def recognise_session(
    database: Database, token_hash: bytes, *, idle_seconds: float, now: datetime | None
) -> Identity | None:
    """Return who is signed in; None: nobody, not any more, or not allowed any more. Transaction: own.

    The account's current role and state count, not those from when the session began.
    The use of the session is recorded at most once a minute. `now`: None lets the database say.
    """
    rows = database.call(_RECOGNISED, (min(60.0, idle_seconds / 4), now, token_hash, idle_seconds))
    if not rows:
        return None
    [(name, role, is_due)] = rows
    if is_due:
        database.call(
            "update remand.sessions set seen_at = coalesce(%s, clock_timestamp()) where token_hash = %s",
            (now, token_hash),
        )
    return Identity(name, Role(role))


def end_session(connection: sa.Connection, token_hash: bytes) -> str | None:
    """Delete a session; return whose it was, None if there is none."""
    name: str | None = connection.scalar(
        sa.delete(sessions).where(sessions.c.token_hash == token_hash).returning(sessions.c.name)
    )
    return name


def add_code(
    connection: sa.Connection, code_hash: bytes, name: str, role: Role, expires_at: datetime
) -> None:
    """Store a code that signs in once."""
    connection.execute(
        sa.insert(login_codes).values(code_hash=code_hash, name=name, role=role, expires_at=expires_at)
    )


def owner_of_code(connection: sa.Connection, code_hash: bytes) -> str | None:
    """Return whom a code signs in; None: it is unknown or used."""
    name: str | None = connection.scalar(
        sa.select(login_codes.c.name).where(login_codes.c.code_hash == code_hash)
    )
    return name


def take_code(connection: sa.Connection, code_hash: bytes, now: datetime) -> bool:
    """Use up a code; False if it is unknown, used or over."""
    taken = connection.execute(
        sa.delete(login_codes).where(login_codes.c.code_hash == code_hash, login_codes.c.expires_at > now)
    )
    return taken.rowcount == 1


def end_codes(connection: sa.Connection, name: str) -> None:
    """Invalidate the sign-in links that were made for a user."""
    connection.execute(sa.delete(login_codes).where(login_codes.c.name == name))


@dataclass(frozen=True, slots=True)
class Tried:
    """How signing in went lately under one key."""

    failures: int
    blocked_until: datetime | None


def lock_tries(connection: sa.Connection, keys: Sequence[str], now: datetime) -> dict[str, Tried]:
    """Return what is known under the keys, locked until the transaction ends; old failures are forgotten."""
    tries = {}
    for key in sorted(keys):
        row = connection.execute(
            insert(login_attempts)
            .values(key=key, at=now)
            .on_conflict_do_update(index_elements=["key"], set_={"key": key})
            .returning(login_attempts.c.failures, login_attempts.c.blocked_until, login_attempts.c.at)
        ).one()
        failures = 0 if row.at < now - FORGOTTEN_AFTER else row.failures
        tries[key] = Tried(failures, row.blocked_until)
    return tries


def set_tries(connection: sa.Connection, tries: Mapping[str, Tried], now: datetime) -> None:
    """Store how signing in goes."""
    for key, tried in sorted(tries.items()):
        connection.execute(
            sa.update(login_attempts)
            .where(login_attempts.c.key == key)
            .values(failures=tried.failures, blocked_until=tried.blocked_until, at=now)
        )


def is_device_of(connection: sa.Connection, key: str, account: str) -> bool:
    """Say whether somebody signed in to the account from this browser before."""
    owner = connection.scalar(sa.select(login_attempts.c.account).where(login_attempts.c.key == key))
    return owner is not None and owner == account


def add_device(connection: sa.Connection, key: str, account: str, now: datetime) -> None:
    """Remember a browser as one from which somebody signed in to the account."""
    connection.execute(sa.insert(login_attempts).values(key=key, account=account, at=now))


def prune(connection: sa.Connection, now: datetime) -> None:
    """Delete what has expired: sessions, codes, yesterday's tries, browsers not seen for long."""
    connection.execute(sa.delete(sessions).where(sessions.c.expires_at <= now))
    connection.execute(sa.delete(login_codes).where(login_codes.c.expires_at <= now))
    old = sa.case((login_attempts.c.account.is_(None), now - _KEPT), else_=now - _DEVICES_KEPT)
    connection.execute(
        sa.delete(login_attempts).where(login_attempts.c.at < old, login_attempts.c.at < now - _KEPT)
    )
