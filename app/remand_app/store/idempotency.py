"""Requests with an Idempotency-Key: which request acts, and what it was answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from remand_app.clock import Clock
from remand_app.domain.errors import KeyInUse, KeyReused
from remand_app.store.database import Database
from remand_app.store.ids import new_id

BUSY_SECONDS = 60.0
"""How long a request may take; after that a repetition acts in its place."""

# Each new request deletes several keys that are older than a day, so the table does not grow.
_TAKE = """
delete from remand.idempotency_keys
 where (caller, key) in (
         select caller, key
           from remand.idempotency_keys
          where at < coalesce(%(now)s, clock_timestamp()) - interval '1 day'
            and (caller, key) <> (%(caller)s, %(key)s)
          order by at
          limit 10
            for update skip locked);
insert into remand.idempotency_keys as taken (caller, key, fingerprint, seed, at, busy_until)
select %(caller)s, %(key)s, %(fingerprint)s, %(seed)s, clock.now,
       clock.now + make_interval(secs => %(busy)s)
  from (select coalesce(%(now)s, clock_timestamp()) as now) clock
on conflict (caller, key) do update
   set fingerprint = excluded.fingerprint,
       busy_until = excluded.busy_until,
       status = null,
       answer = null,
       seed = case when taken.at < excluded.at - interval '1 day' then excluded.seed else taken.seed end,
       at = case when taken.at < excluded.at - interval '1 day' then excluded.at else taken.at end
 where taken.at < excluded.at - interval '1 day'
    or taken.status is null and taken.busy_until < excluded.at and taken.fingerprint = excluded.fingerprint
returning seed
"""
_LOOK = "select fingerprint, status, answer from remand.idempotency_keys where caller = %s and key = %s"
_KEEP = """
update remand.idempotency_keys
   set status = %s, answer = %s::jsonb
 where caller = %s
   and key = %s
   and status is null
"""
_FORGET = "delete from remand.idempotency_keys where caller = %s and key = %s and status is null"


@dataclass(frozen=True, slots=True)
class Answered:
    """What the first request with this key was answered."""

    status: int
    body: Any


def take(database: Database, clock: Clock, caller: str, key: str, fingerprint: str) -> UUID | Answered:
    """Return the id to make the thing under, or the answer if it was given before. Transaction: own.

    Raises:
        KeyReused: another request was sent with this key.
        KeyInUse: the first request with it is still under way.
    """
    arguments = {
        "caller": caller,
        "key": key,
        "fingerprint": fingerprint,
        "seed": new_id(),
        "busy": BUSY_SECONDS,
        "now": clock.fixed(),
    }
    with database.cursor() as cursor:
        cursor.execute(_TAKE, arguments)
        taken = cursor.fetchall()
    if taken:
        seed: UUID = taken[0][0]
        return seed
    known = database.call(_LOOK, (caller, key))
    if known and known[0][0] != fingerprint:
        raise KeyReused(
            "this Idempotency-Key was sent with another request", hint="a new request needs a new key"
        )
    if known and known[0][1] is not None:
        return Answered(known[0][1], known[0][2])
    raise KeyInUse(
        "the first request with this Idempotency-Key is still under way", hint="repeat it in a second"
    )


def keep(database: Database, caller: str, key: str, status: int, body: bytes) -> None:
    """Remember an answer. Transaction: own."""
    database.call(_KEEP, (status, body.decode(), caller, key))


def forget(database: Database, caller: str, key: str) -> None:
    """Free a key whose request did nothing. Transaction: own."""
    database.call(_FORGET, (caller, key))
