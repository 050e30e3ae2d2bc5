"""Wait, when a process starts, for servers that are away or take no writes.

A supervisor that starts everything at once, a failover, a restored backup: each of these passes after a
while. A wrong password, or a missing database or vhost, does not pass and is reported at once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final, TypeVar

from remand_app.config import Settings
from remand_app.domain.errors import BrokerUnreachable, DatabaseMissing, DatabaseUnreachable
from remand_app.engine.bell import Bell
from remand_app.store.database import Database
from remand_app.telemetry import log

T = TypeVar("T")
_Unreachable = DatabaseUnreachable | BrokerUnreachable

_PAUSES_SECONDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
# For a connection that fails before it is open, libpq reports no SQLSTATE.
_STAYS_SO: Final = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|invalid (connection option|dsn|port)"
    r"|role \"[^\"]*\" (does not exist|is not permitted)"
    r"|invalid username-password pair|authentication required|ACCESS_REFUSED|NOT_ALLOWED",
    re.IGNORECASE,
)


def await_database(database: Database, settings: Settings, *, writes: bool = True) -> None:
    """Return once Postgres answers and, if it `writes`, takes writes.

    Raises:
        DatabaseUnreachable: not within `start_wait_seconds`, or it will not by waiting.
    """
    patiently(database.check_writes if writes else database.check, settings)


def await_broker(bell: Bell, settings: Settings) -> None:
    """Return once the broker answers.

    Raises:
        BrokerUnreachable: not within `start_wait_seconds`, or it will not by waiting.
    """
    patiently(bell.check, settings)


def patiently(
    call: Callable[[], T],
    settings: Settings,
    *,
    pause: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> T:
    """Call until the server answers; say once which server is waited for.

    Raises:
        DatabaseUnreachable, BrokerUnreachable: as `await_database` and `await_broker`.
    """
    began, tries = monotonic(), 0
    broker = False
    while True:
        try:
            answer = call()
        except (DatabaseUnreachable, BrokerUnreachable) as error:
            broker = isinstance(error, BrokerUnreachable)
            waited = monotonic() - began
            if waited >= settings.start_wait_seconds or _stays_so(error):
                raise _given_up(error, waited) if tries else error from error
            if tries == 0:
                _tell_awaited(error, settings.start_wait_seconds)
            left = settings.start_wait_seconds - waited
            pause(min(_PAUSES_SECONDS[min(tries, len(_PAUSES_SECONDS) - 1)], left))
            tries += 1
        else:
            if tries:
                _tell_there(broker, round(monotonic() - began, 1))
            return answer


def _tell_awaited(error: _Unreachable, seconds: float) -> None:
    if isinstance(error, BrokerUnreachable):
        log("broker.awaited", error=error.message, delay_seconds=seconds)
    else:
        log("database.awaited", error=error.message, delay_seconds=seconds)


def _tell_there(broker: bool, seconds: float) -> None:
    if broker:
        log("broker.there", duration_seconds=seconds)
    else:
        log("database.there", duration_seconds=seconds)


def _stays_so(error: _Unreachable) -> bool:
    return isinstance(error, DatabaseMissing) or _STAYS_SO.search(error.message) is not None


def _given_up(error: _Unreachable, waited: float) -> _Unreachable:
    return type(error)(
        f"{error.message} (waited for {waited:.0f} s)",
        hint=f"{error.hint}; `start_wait_seconds` says how long a start waits",
        details=error.details,
    )
