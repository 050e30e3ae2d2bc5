from __future__ import annotations

import json
from typing import Any

import pytest

from remand_app.config import Settings
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.engine.enqueue_notifications import enqueue, enqueue_many
from remand_app.store.database import Database
from tests.support.engine import Harness, settings_for

URL = "https://example.test/hook/path-that-is-a-secret"


def told(**target: Any) -> Settings:
    return settings_for(notify={"targets": [{"name": "ops", "url": URL, **target}]})


def rows(database: Database) -> list[tuple[Any, ...]]:
    return database.call(
        "select target, kind, subject_id, occurrence, payload, state from remand.notifications order by id"
    )


def put(harness: Harness, *notices: Notice) -> int:
    with harness.database.begin() as connection:
        return enqueue_many(connection, harness.settings, notices, harness.clock.now)


@pytest.fixture
def harness(database: Database) -> Harness:
    return Harness(database, settings=told())


def test_without_a_target_nothing_is_kept(database: Database) -> None:
    harness = Harness(database)

    with database.begin() as connection:
        made = enqueue(
            connection,
            harness.settings,
            Notice(NotificationKind.GROUP_OPENED, "g", "a new cause"),
            harness.clock.now,
        )

    assert made == 0
    assert rows(database) == []


def test_what_no_target_wants_is_not_kept(database: Database) -> None:
    harness = Harness(database, settings=told(kinds=["breaker_opened"]))

    assert put(harness, Notice(NotificationKind.GROUP_OPENED, "g", "a new cause")) == 0
    assert put(harness, Notice(NotificationKind.BREAKER_OPENED, "api", "down")) == 1
    assert [row[1] for row in rows(database)] == ["breaker_opened"]


def test_every_letter_is_told_of_only_where_that_was_asked_for(harness: Harness, database: Database) -> None:
    assert put(harness, Notice(NotificationKind.DEAD_LETTER_OPENED, "l", "a letter")) == 0

    asked = Harness(database, settings=told(kinds=["dead_letter_opened"]))
    assert put(asked, Notice(NotificationKind.DEAD_LETTER_OPENED, "l", "a letter")) == 1


def test_enqueued_twice_it_is_there_once_for_each_target(database: Database) -> None:
    targets = [{"name": "ops", "url": URL}, {"name": "chat", "url": URL, "format": "slack"}]
    harness = Harness(database, settings=settings_for(notify={"targets": targets}))
    notice = Notice(NotificationKind.GROUP_OPENED, "g", "a new cause")

    assert put(harness, notice, notice) == 2
    assert put(harness, notice) == 0
    assert put(harness, Notice(NotificationKind.GROUP_OPENED, "g", "again", occurrence="2")) == 2
    assert sorted(row[0] for row in rows(database)) == ["chat", "chat", "ops", "ops"]


def test_a_notice_is_gone_with_the_transaction_of_its_fact(harness: Harness, database: Database) -> None:
    notice = Notice(NotificationKind.BREAKER_OPENED, "api", "down")
    with database.begin() as connection:
        assert enqueue(connection, harness.settings, notice, harness.clock.now) == 1
        connection.rollback()

    assert rows(database) == []


def test_neither_the_address_nor_what_looks_like_a_secret_is_stored(
    harness: Harness, database: Database
) -> None:
    facts = {"password": "hunter2", "where": "postgresql://u:hunter2@h/db", "count": 3}
    put(harness, Notice(NotificationKind.SWEEP_FAILING, "ring", "failing", facts))

    [row] = rows(database)
    assert row[4]["facts"]["count"] == 3
    stored = json.dumps(row[4]) + str(database.call("select n::text from remand.notifications n"))
    assert "hunter2" not in stored
    assert "path-that-is-a-secret" not in stored


def test_the_link_leads_to_the_page_of_the_subject(database: Database) -> None:
    settings = told().model_copy(
        update={"web": settings_for(web={"dashboard_url": "https://remand.test"}).web}
    )
    harness = Harness(database, settings=settings)
    put(
        harness,
        Notice(NotificationKind.GROUP_OPENED, "0199", "new"),
        Notice(NotificationKind.BREAKER_OPENED, "a", "b"),
    )

    assert {row[4]["link"] for row in rows(database)} == {
        "https://remand.test/dlq/groups/0199",
        "https://remand.test/breakers",
    }
