"""See in Postgres' own view of its locks that somebody waits, without guessing how long that takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from remand_app.store.database import Database

_WAITING = """
select count(*) from pg_locks l join pg_stat_activity a using (pid)
 where not l.granted and a.datname = current_database()
   and (l.relation is null or l.relation::regclass::text like %s)
"""


def wait_for_waiter(database: Database, relation: str = "%", count: int = 1) -> None:
    """Return once so many wait for a lock on a relation, given as a pattern of its name."""
    for _ in range(20_000):
        if database.call(_WAITING, (relation,))[0][0] >= count:
            return
    raise AssertionError(f"nobody waits for {relation}")


@contextmanager
def in_background(act: Callable[[], Any]) -> Iterator[list[Any]]:
    """Run something in a thread; at the end of the block it is over, and its value or error in the list."""
    ends: list[Any] = []

    def run() -> None:
        try:
            ends.append(act())
        except BaseException as error:
            ends.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield ends
    finally:
        thread.join(60)
        assert not thread.is_alive(), "it never ended"


def timed(act: Callable[[], Any]) -> float:
    """Return how many seconds something takes."""
    began = time.monotonic()
    act()
    return time.monotonic() - began
