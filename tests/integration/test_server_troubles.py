"""A server whose disk is full, and one that another takes the place of: waited for, and no result suffers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
import sqlalchemy as sa

from remand_app.store import schema
from remand_app.store.database import Database
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.own_servers import OwnPostgres, SmallDiskPostgres, Standby
from tests.support.shapes import shape
from tests.support.waiting import eventually

pytestmark = pytest.mark.once
STEPS = 20
ONCE = [[(1, "complete")]] * STEPS


@pytest.fixture
def opened() -> Iterator[list[Database]]:
    made: list[Database] = []
    yield made
    for database in made:
        database.dispose()


def site(url: str, opened: list[Database]) -> Harness:
    opened.append(Database(url))
    schema.migrate(opened[-1])
    harness = Harness(opened[-1])
    harness.publish(shape("one", {"a": ()}))
    # Nothing that a server could make shorter.
    harness.play(a=lambda ctx: random.Random(ctx.input).randbytes(150_000).hex())
    return harness


def attempts(harness: Harness, ids: list[UUID]) -> list[list[tuple[int, str]]]:
    check_invariants(harness.database)
    return [[(one.attempt, one.outcome) for one in harness.attempts(each)] for each in ids]


def test_full_disk_is_waited_for_and_no_result_is_lost(tmp_path: Path, opened: list[Database]) -> None:
    if not SmallDiskPostgres.is_possible():
        pytest.skip("a disk of its own needs root and the right to mount")
    server = SmallDiskPostgres(tmp_path, 400)
    server.start()
    try:
        harness = site(server.url, opened)
        ids = harness.submit_many("t/one", range(STEPS))
        # What it writes ahead must have room, or the whole server goes down.
        harness.database.call("select pg_switch_wal()")
        harness.database.call("checkpoint")
        waited: list[int] = []

        def make_room(_seconds: float) -> None:
            waited.append(sum(harness.states(one)["a"] == "in_progress" for one in ids))
            if len(waited) == 3:
                server.empty()

        harness.worker.executor._state.pause = make_room
        server.fill(but=500_000)
        harness.run_until_quiet()

        assert len(waited) == 3
        assert min(waited) > 0
        assert attempts(harness, ids) == ONCE
    finally:
        server.stop()


def test_failover_is_waited_for_and_no_result_is_lost(tmp_path: Path, opened: list[Database]) -> None:
    """The one that takes the primary's place has all that was committed, as a synchronous one has."""
    primary = OwnPostgres(tmp_path)
    primary.start()
    site(primary.url, opened)
    standby = Standby(primary, tmp_path)
    try:
        standby.start()
        asked = sa.make_url(primary.url)
        hosts = [f"{asked.host}:{asked.port}", f"{asked.host}:{standby.port}"]
        both = asked.set(host=None, port=None).update_query_dict(
            {"host": hosts, "target_session_attrs": "read-write"}
        )
        harness = site(both.render_as_string(hide_password=False), opened)
        ids = harness.submit_many("t/one", range(STEPS))
        claim = harness.worker.queue.claim
        pauses: list[float] = []

        def claim_and_lose_the_primary(queue: str, k: int) -> object:
            claims = claim(queue, k)
            harness.worker.queue.claim = claim  # type: ignore[method-assign]
            eventually(lambda: standby.has_all_of(primary), timeout=60)
            primary.kill()
            return claims

        def promote(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                standby.promote()

        harness.worker.queue.claim = claim_and_lose_the_primary  # type: ignore[method-assign,assignment]
        harness.worker.executor._state.pause = promote
        harness.run_until_quiet()

        assert len(pauses) >= 3
        assert attempts(harness, ids) == ONCE
    finally:
        standby.stop()
        primary.stop()
