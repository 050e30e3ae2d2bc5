"""Users and API tokens. Rows are read as values, without their secrets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from remand_app.domain.access import Identity, Permission, Role, Token, User
from remand_app.domain.errors import TokenNotFound, UserNotFound
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from remand_app.store.tables import api_tokens, sessions, users

WRITTEN_EVERY_SECONDS = 60


_USER = [users.c[name] for name in User.__slots__]
_TOKEN = [api_tokens.c[name] for name in Token.__slots__]


def add_user(
    connection: sa.Connection, name: str, role: Role, password_hash: str, *, by: str, now: datetime
) -> bool:
    """Store a user; False if the name is taken."""
    row = {
        "id": new_id(), "name": name, "role": role, "password_hash": password_hash, "password_at": now,
        "created_at": now, "created_by": by,
    }  # fmt: skip
    added = connection.execute(
        insert(users).values(row).on_conflict_do_nothing(constraint="users_name").returning(users.c.id)
    )
    return added.first() is not None


def lock_user(connection: sa.Connection, name: str) -> User:
    """Lock a user until the transaction ends, and return it.

    Raises:
        UserNotFound: nobody has that name.
    """
    row = connection.execute(sa.select(*_USER).where(users.c.name == name).with_for_update()).first()
    if row is None:
        raise UserNotFound(f"no user {name!r}", hint="see `remand user list`")
    return _user(row)


def role_of(database: Database, name: str) -> Role | None:
    """Return a user's role, even if they may not sign in; None: nobody has that name. Transaction: own."""
    rows = database.call("select role from remand.users where name = lower(trim(%s))", (name,))
    return Role(rows[0][0]) if rows else None


def change_user(connection: sa.Connection, user_id: UUID, **values: Any) -> None:
    """Set columns of a user."""
    connection.execute(sa.update(users).where(users.c.id == user_id).values(values))


def end_sessions(connection: sa.Connection, user_id: UUID) -> int:
    """End all sessions of a user; return how many there were."""
    return connection.execute(sa.delete(sessions).where(sessions.c.user_id == user_id)).rowcount


def list_users(database: Database) -> list[User]:
    """Return all users by name. Transaction: own."""
    with database.begin() as connection:
        return [_user(row) for row in connection.execute(sa.select(*_USER).order_by(users.c.name))]


def add_token(
    connection: sa.Connection,
    name: str,
    token_hash: bytes,
    hint: str,
    *,
    role: Role,
    scopes: Sequence[Permission] | None,
    expires_at: datetime | None,
    by: str,
    now: datetime,
) -> Token | None:
    """Store a token; None if a token that is not revoked has the name."""
    row = {
        "id": new_id(), "name": name, "token_hash": token_hash, "hint": hint, "role": role,
        "scopes": None if scopes is None else [str(scope) for scope in scopes],
        "created_at": now, "created_by": by, "expires_at": expires_at,
    }  # fmt: skip
    added = connection.execute(
        insert(api_tokens)
        .values(row)
        .on_conflict_do_nothing(index_elements=["name"], index_where=sa.text("revoked_at IS NULL"))
        .returning(*_TOKEN)
    ).first()
    return None if added is None else _token(added)


def revoke_token(connection: sa.Connection, name_or_id: str, *, now: datetime) -> Token:
    """Revoke the token of that name, hint or id that is not revoked yet.

    Raises:
        TokenNotFound: there is none.
    """
    this = sa.or_(
        api_tokens.c.name == name_or_id,
        api_tokens.c.hint == name_or_id,
        sa.cast(api_tokens.c.id, sa.Text) == name_or_id,
    )
    row = connection.execute(
        sa.update(api_tokens)
        .where(this, api_tokens.c.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(*_TOKEN)
    ).first()
    if row is None:
        raise TokenNotFound(f"no token {name_or_id!r} that could be revoked", hint="see `remand token list`")
    return _token(row)


def list_tokens(database: Database, *, revoked: bool = False) -> list[Token]:
    """Return tokens, newest first; `revoked`: revoked ones, too. Transaction: own."""
    query = sa.select(*_TOKEN).order_by(api_tokens.c.id.desc())
    if not revoked:
        query = query.where(api_tokens.c.revoked_at.is_(None))
    with database.begin() as connection:
        return [_token(row) for row in connection.execute(query)]


def recognise_token(database: Database, token_hash: bytes, now: datetime | None) -> Identity | None:
    """Return whom a token identifies; None: it is unknown, revoked or expired. Transaction: own.

    The use of the token is recorded at most once a minute. `now`: None lets the database say.
    """
    rows = database.call(
        """
        select id, name, role, scopes, coalesce(used_at < clock.now - make_interval(secs => %s), true)
          from remand.api_tokens, coalesce(%s, clock_timestamp()) clock(now)
         where token_hash = %s
           and revoked_at is null
           and (expires_at is null or expires_at > clock.now)
        """,
        (WRITTEN_EVERY_SECONDS, now, token_hash),
    )
    if not rows:
        return None
    [(token_id, name, role, scopes, is_due)] = rows
    if is_due:
        database.call(
            "update remand.api_tokens set used_at = coalesce(%s, clock_timestamp()) where id = %s",
            (now, token_id),
        )
    left = None if scopes is None else frozenset(Permission(scope) for scope in scopes)
    return Identity(f"token:{name}", Role(role), left)


def is_anybody_there(database: Database, now: datetime | None) -> bool:
    """Say whether a user or a token exists that could sign in. Transaction: own."""
    rows = database.call(
        """
        select exists (select from remand.users where disabled_at is null)
            or exists (
                 select
                   from remand.api_tokens
                  where revoked_at is null
                    and (expires_at is null or expires_at > coalesce(%s, clock_timestamp())))
        """,
        (now,),
    )
    return bool(rows[0][0])


def _user(row: sa.Row[Any]) -> User:
    values = row._asdict()
    return User(**{**values, "role": Role(values["role"])})


def _token(row: sa.Row[Any]) -> Token:
    values = row._asdict()
    scopes = values["scopes"]
    left = None if scopes is None else tuple(Permission(scope) for scope in scopes)
    return Token(**{**values, "role": Role(values["role"]), "scopes": left})
