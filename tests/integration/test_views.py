"""The views for people's own SQL: figures, readers and guide. Source: D7."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand.errors import PermanentError, RetryableError
from remand_app.cli.invoke import run
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.group_filter import GroupFilter
from remand_app.domain.states import DeadLetterStatus
from remand_app.engine.operate import (
    Who,
    cancel_letter,
    claim_letter,
    give_up_letter,
    requeue_letter,
    resolve_letter,
)
from remand_app.engine.operate import groups as causes
from remand_app.engine.statistics import Statistics, statistics
from remand_app.engine.sweeps.prune import prune
from remand_app.store import group_search
from remand_app.store.database import Database
from remand_app.store.dead_letter_search import triage_page
from tests.support.engine import Harness
from tests.support.own_servers import OwnPostgres
from tests.support.pages import code
from tests.support.shapes import always, shape

ANN = Who("ann")
VERBS = (claim_letter, resolve_letter, give_up_letter, cancel_letter, requeue_letter)
GUIDE = "docs/guides/own-sql.md"


def letters(harness: Harness, count: int = 12) -> None:
    """Open letters of two reasons, and deal with most of them in every way."""
    harness.publish(shape("one", {"a": ()}, retry={"max_attempts": 1}))
    for error in (PermanentError("no"), RetryableError("busy")):
        harness.play(a=always(error))
        harness.submit_many("t/one", range(count))
        harness.run_until_quiet()
        harness.advance(minutes=7)
    chance = random.Random(5)
    for (letter,) in harness.database.call("select id from remand.dead_letters order by id"):
        harness.advance(60)
        if chance.random() < 0.7:
            chance.choice(VERBS)(harness.engine, letter, ANN)


def rows(database: Database, view: str) -> list[dict[str, Any]]:
    with database.cursor() as cursor:
        cursor.execute(f"select * from remand.{view}")
        names = [one.name for one in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def assert_same(found: list[dict[str, Any]], told: Statistics) -> None:
    def total(column: str) -> int:
        return sum(one[column] for one in found)

    counts = ("open", "kept", "opened_ever", "closed_ever")
    assert {one["reason"]: tuple(one[name] for name in counts) for one in found} == {
        one.name: (one.open, one.now, one.ever, one.closed) for one in told.by_reason
    }
    means = {one["reason"]: one["mean_seconds_to_close"] for one in found}
    assert means == {one.name: pytest.approx(one.mean_seconds_to_close) for one in told.by_reason}
    assert {str(name): total(name) for name in DeadLetterStatus if total(name)} == {
        one.name: one.now for one in told.by_status if one.now
    }
    assert (total("open"), total("pending"), total("closed_ever")) == (told.open, told.unclaimed, told.closed)
    oldest = [one["oldest_open_at"] for one in found if one["oldest_open_at"]]
    assert min(oldest, default=None) == told.oldest_open_at
    [requeued] = [one.ever for one in told.by_status if one.name == "requeued"]
    assert total("requeues_ever") == requeued


def test_the_dashboard_has_the_figures_of_the_command_line(harness: Harness) -> None:
    letters(harness)

    unfolded = rows(harness.database, "v_dlq_dashboard")
    told = statistics(harness.engine)

    assert len(told.by_reason) == 2
    assert told.open
    assert told.closed
    assert_same(unfolded, told)
    assert_same(rows(harness.database, "v_dlq_dashboard"), told)


def test_the_dashboard_has_them_after_old_letters_are_gone(harness: Harness) -> None:
    letters(harness)
    before = statistics(harness.engine)
    harness.advance(days=4000)
    prune(harness.engine)

    told = statistics(harness.engine)

    assert sum(one.now for one in told.by_reason) < sum(one.now for one in before.by_reason)
    assert told.opened == before.opened
    assert_same(rows(harness.database, "v_dlq_dashboard"), told)


def test_an_empty_dashboard_has_no_rows(database: Database) -> None:
    assert rows(database, "v_dlq_dashboard") == []
    assert rows(database, "v_dlq_investigation_queue") == []


def test_the_queue_is_that_of_triage_in_its_order(harness: Harness) -> None:
    letters(harness)
    [group, *_] = group_search.list_page(harness.database, GroupFilter(states=())).items
    causes.claim_group(harness.engine, group.id, Who("grace"))

    found = rows(harness.database, "v_dlq_investigation_queue")

    told = triage_page(harness.database, LetterFilter(), limit=1000).items
    assert len(told) > 3
    fields = ("dead_letter_id", "workflow_id", "status", "owner", "opened_at", "reason")
    assert [tuple(one[name] for name in fields) for one in found] == [
        (one.id, one.workflow_id, one.status, one.claimed_by, one.opened_at, one.reason) for one in told
    ]
    assert {one["group_owner"] for one in found} == {"grace", None}
    priorities = [one["priority"] for one in found]
    assert priorities == sorted(priorities, reverse=True)


# Who may read


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnPostgres]:
    """A server whose roles are of this module alone."""
    server = OwnPostgres(tmp_path_factory.mktemp("postgres"))
    server.start()
    yield server
    server.stop()


def readable(database: Database, role: str) -> set[str]:
    found = database.call(
        "select c.relname::text from pg_class c where c.relnamespace = 'remand'::regnamespace"
        " and c.relkind in ('r', 'v', 'p') and has_table_privilege(%s, c.oid, 'select')",
        (role,),
    )
    return {row[0] for row in found}


def test_a_reader_may_read_every_view_and_nothing_that_users_put_in(
    own: OwnPostgres, any_broker_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    database = Database(own.url)
    database.call("create role remand_reader login password 'reads'")
    monkeypatch.setenv("REMAND_DATABASE_URL", own.url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.chdir(tmp_path)
    assert run(["migrate"]) == 0

    found = readable(database, "remand_reader")
    views = {name for name in found if name.startswith("v_")}
    with database.begin() as connection:
        connection.exec_driver_sql("set local role remand_reader")
        for view in views:
            connection.exec_driver_sql(f"select * from remand.{view}")
    reader = (
        make_url(own.url)
        .set(username="remand_reader", password="reads")
        .render_as_string(hide_password=False)
    )
    tab = subprocess.run(
        [
            sys.executable,
            "-c",
            "import json; from remand_workers.flower_tab import look; print(json.dumps(look()))",
        ],
        env={**os.environ, "REMAND_DATABASE_URL": reader},
        capture_output=True,
        text=True,
        check=False,
    )
    database.dispose()

    assert {"v_dlq_dashboard", "v_dlq_investigation_queue", "v_archive_statistics"} <= views
    assert found - views == {
        "run_queue", "pauses", "breakers", "breaker_moves", "traffic", "workers", "template_steps",
        "schema_version",
    }  # fmt: skip
    assert tab.returncode == 0, tab.stderr
    assert json.loads(tab.stdout).keys() == {"queues", "breakers"}, tab.stdout


def test_the_guide_lets_a_reader_in_who_then_runs_its_queries(harness: Harness) -> None:
    letters(harness)
    database = harness.database
    grants, *queries = code(GUIDE, "sql")
    [(name,)] = database.call("select current_database()")
    role = f"reader_of_{name}"
    grants = grants.replace("remand_reader", role)
    assert len(queries) == 6
    database.call(grants)
    try:
        with database.begin() as connection:
            connection.exec_driver_sql(f"set local role {role}")
            found = [connection.exec_driver_sql(query.replace("%", "%%")).all() for query in queries]
            assert [bool(one) for one in found] == [True, True, True, True, False, False]
            assert readable(database, role) == {
                "v_dlq_dashboard",
                "v_dlq_investigation_queue",
                "v_staleness_monitoring",
                "v_archive_statistics",
            }
    finally:
        database.call(f"drop owned by {role}; drop role {role}")
