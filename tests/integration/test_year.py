"""A year of work in minutes: at its end every workflow that was submitted is live, archived or exported.

The clock is set; Postgres, engine and sweeps are real. People look at failures some days late, or never.
Source: D1-D8, issue "lifecycle at scale".
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError, RetryableError
from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.engine import archive_export, operate
from remand_app.engine.operate import Who
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.engine.sweeps.runs import function_of
from remand_app.store.archive_runs import DEFAULT
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.invariants import check_invariants
from tests.support.shapes import shape

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("ids_of_any_month")]

DAY = 86_400.0
BEGIN = datetime(2027, 1, 1, 6, tzinfo=UTC)
DAYS = 365
STRIDE = 3
"""Days from one look of beat and people to the next."""
AT_ONCE = 9
"""Workflows submitted then."""
ONLINE = timedelta(days=120)
"""Age at which a period of the archive goes to files."""
ANN = Who("ann", "looked at")
FAILING = ("refused", "hopeless", "forgotten", "late", "far")
KINDS = ("well", "well", "well", "retried", "refused", "hopeless", "forgotten", "slow", "late")
SETTINGS = {"archive": {"retention_days": 30, "hold_seconds": 5}, "partitions_ahead": 2}
_OPEN = """
select id, workflow_id, opened_at from remand.dead_letters where closed_at is null order by opened_at, id
"""


class Year:
    """What is submitted, and what people do about it."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.harness = Harness(database, FakeClock(BEGIN), settings=settings_for(**SETTINGS))
        self.engine = self.harness.engine
        self.folder = folder
        self.random = random.Random(4711)
        self.submitted: dict[UUID, str] = {}
        self.mended: set[str] = set()
        self.exported: list[str] = []
        graph = {"take": (), "charge": ("take",)}
        self.harness.publish(shape("order", graph))
        slow = {"exponential": {"base_seconds": 15 * DAY, "cap_seconds": 15 * DAY}}
        self.harness.publish(shape("late", graph, retry=slow, expire_after_seconds=20 * DAY))
        self.harness.publish(shape("far", {"call": ()}, each={"call": {"queue": "far"}}))
        self.harness.play(take=self._take, charge=self._charge)

    def _take(self, ctx: Any) -> str:
        if ctx.input["kind"] == "late":
            raise RetryableError("never")
        if ctx.input["kind"] == "slow" and ctx.attempt < 3:
            raise RetryableError("not yet")
        return "taken"

    def _charge(self, ctx: Any) -> str:
        kind = ctx.input["kind"]
        if kind == "retried" and ctx.attempt == 1:
            raise ConnectionResetError("reset")
        if kind in ("refused", "hopeless", "forgotten") and str(ctx.workflow_id) not in self.mended:
            raise PermanentError(f"{kind}: card declined")
        return "charged"

    def submit(self, kind: str) -> None:
        ref = {"far": "t/far", "late": "t/late"}.get(kind, "t/order")
        wanted = UUID(int=first_id_at(self.harness.clock.now).int + self.random.getrandbits(60))
        submit(self.engine, ref, SubmitRequest({"kind": kind}, id=wanted), by="test")
        self.submitted[wanted] = kind

    def day(self, number: int) -> None:
        """Submit, let workers work, look at what failed, let beat go round."""
        for _ in range(AT_ONCE):
            self.submit(self.random.choice(KINDS))
        if number % 30 < STRIDE:
            self.submit("far")
        self.harness.worker.beat()
        self.work()
        for name in BEAT_SCHEDULE:
            function_of(name)(self.engine)
        self.investigate()
        self.work()
        if number % 30 < STRIDE:
            self.store()

    def work(self) -> None:
        # A queue that nobody consumes is rung by the submit, and nobody answers.
        self.harness.bell.rings = [one for one in self.harness.bell.rings if one != "far"]
        self.harness.run_until_quiet()

    def investigate(self) -> None:
        """Look at letters that are a few days old; of those that were forgotten nobody ever does."""
        for letter, workflow, opened_at in self.harness.database.call(_OPEN):
            age = self.harness.clock.now - opened_at
            match self.submitted[workflow]:
                case "refused" if age > timedelta(days=2):
                    self.mended.add(str(workflow))
                    operate.requeue_letter(self.engine, letter, ANN)
                case "hopeless" if age > timedelta(days=5):
                    operate.give_up_letter(self.engine, letter, ANN)
                case "late" | "far" if age > timedelta(days=40):
                    operate.cancel(self.engine, workflow, ANN)

    def store(self) -> None:
        """Export what is long over, and drop it from the database."""
        for name in archive_export.unexported(self.engine):
            month = None if name == DEFAULT else datetime.strptime(name, "%Y_%m").replace(tzinfo=UTC)
            if month is not None and month < self.harness.clock.now - ONLINE:
                archive_export.export(self.engine, name, self.folder, ANN)
                archive_export.drop(self.engine, name, ANN)
                self.exported.append(name)

    def in_files(self) -> Iterator[dict[str, Any]]:
        """Yield every workflow that was exported."""
        for name in self.exported:
            with gzip.open(self.folder / name / "workflows.jsonl.gz", "rt") as lines:
                for line in lines:
                    yield json.loads(line)


def time_of(workflow_id: UUID) -> datetime:
    return datetime.fromtimestamp((workflow_id.int >> 80) / 1000, UTC)


@pytest.fixture
def year(fresh_database: Database, tmp_path: Path) -> Year:
    return Year(fresh_database, tmp_path)


def test_after_a_year_every_workflow_is_live_archived_or_exported(year: Year) -> None:
    for number in range(0, DAYS, STRIDE):
        year.day(number)
        year.harness.advance(days=STRIDE)
    database = year.harness.database
    check_invariants(database)

    live, archived = (
        {row[0] for row in database.call(f"select id from remand.{table}")}
        for table in ("workflows", "workflows_archive")
    )
    files = [UUID(one["id"]) for one in year.in_files()]
    assert len(year.submitted) == len(live) + len(archived) + len(files)
    assert set(year.submitted) == live | archived | set(files)
    assert live
    assert archived
    assert files
    assert len(year.exported) >= 6, "one month after the other goes to files"

    failed = {one for one, kind in year.submitted.items() if kind in FAILING}
    lately = {
        one for one in failed if time_of(one) > year.harness.clock.now - timedelta(days=20 + 2 * STRIDE)
    }
    lettered = {row[0] for row in database.call("select workflow_id from remand.dead_letters")}
    assert failed - lately <= lettered, "a failure that nobody was told of"
    forgotten = {one for one, kind in year.submitted.items() if kind == "forgotten"}
    assert forgotten <= live, "what still needs a person went away"
    unmet = {
        row[0] for row in database.call("select workflow_id from remand.dead_letters where closed_at is null")
    }
    assert forgotten - lately <= unmet
