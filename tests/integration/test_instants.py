"""Instants that no calendar shows: refused at every door; one that is stored already breaks no page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.errors import InstantInvalid
from remand_app.domain.instants import EARLIEST, LATEST
from remand_app.engine.operate import Who
from remand_app.engine.operate.groups import set_due
from remand_app.store import schema
from remand_app.store.database import Database
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.web import Web

pytestmark = pytest.mark.once

OUTSIDE = (
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
    "2026-11-27T08:00:00+23:59",
    "2026-11-27T08:00:00-23:59",
)
PAGES = ("/", "/dlq", "/dlq/triage", "/dlq/letters", "/redrives")


@pytest.fixture
def site(web: Web) -> Harness:
    made = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    made.publish(shape("order", {"a": ()}))
    made.play(a=always(PermanentError("no")))
    made.submit("t/order", {})
    made.run_until_quiet()
    return made


def group_of(site: Harness) -> UUID:
    found: UUID = site.database.call("select id from remand.dead_letter_groups")[0][0]
    return found


@pytest.mark.parametrize("instant", OUTSIDE)
def test_every_door_of_the_server_refuses_an_instant_out_of_range(
    web: Web, site: Harness, instant: str
) -> None:
    api, group = web.program("operator"), group_of(site)
    admin, browser = web.program("admin"), web.browser("operator")
    answers = {
        "letters": api.get("/api/v1/dlq", params={"opened_from": instant}),
        "letters before": api.get("/api/v1/dlq", params={"opened_before": instant}),
        "workflows": api.get("/api/v1/workflows", params={"submitted_after": instant}),
        "workflows before": api.get("/api/v1/workflows", params={"submitted_before": instant}),
        "audit": admin.get("/api/v1/audit", params={"since": instant}),
        "groups": api.get("/api/v1/dlq/groups", params={"cursor": f"{instant}_{group}"}),
        "triage": api.get("/api/v1/dlq", params={"order": "triage", "cursor": f"{instant}_{group}"}),
        "due": api.patch(f"/api/v1/dlq/groups/{group}", json={"action": "due", "due_at": instant}),
        "redrive": api.post(
            "/api/v1/redrives", json={"selection": {"group_id": str(group)}, "not_before": instant}
        ),
        "form": browser.post(f"/dlq/groups/{group}/due", data={"due_at": instant}),
    }
    assert {
        name: answer.status_code for name, answer in answers.items() if not 400 <= answer.status_code < 500
    } == {}
    assert site.database.call("select due_at from remand.dead_letter_groups") == [(None,)]


def test_engine_refuses_what_a_door_let_through(site: Harness) -> None:
    with pytest.raises(InstantInvalid):
        set_due(site.engine, group_of(site), LATEST, Who("ann"))


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("10000-01-01T13:59:59Z", LATEST),
        ("infinity", LATEST),
        ("9999-12-31T23:59:59Z", LATEST),
        ("0001-01-01T00:00:00Z", EARLIEST),
        ("4000-01-01 00:00:00Z BC", EARLIEST),
    ],
)
def test_stored_instant_that_python_has_not_breaks_no_page(
    web: Web, site: Harness, stored: str, shown: Any
) -> None:
    site.database.call("update remand.dead_letter_groups set due_at = %s", (stored,))
    api, browser = web.program("viewer"), web.browser("viewer")
    group = group_of(site)
    pages = {page: browser.get(page).status_code for page in (*PAGES, f"/dlq/groups/{group}")}
    assert set(pages.values()) == {200}, pages
    answer = api.get(f"/api/v1/dlq/groups/{group}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["due_at"].startswith(f"{shown:%Y-%m-%d}")
    assert api.get("/api/v1/dlq/groups").status_code == 200


def test_migration_mends_instants_that_were_stored(empty_database_url: str) -> None:
    unmigrated = Database(empty_database_url)
    schema.migrate(unmigrated, "0001")
    unmigrated.call(
        "insert into remand.dead_letter_groups (id, fingerprint, cause, namespace, template, version, step,"
        " handler, error_class, message, category, state, state_since, due_at, first_at, last_at)"
        " select gen_random_uuid(), due, '', '', '', '', '', '', '', '', 'permanent', 'open', now(),"
        " due::timestamptz, now(), now()"
        " from unnest(array['9999-12-31 23:59:59-14', 'infinity', '0001-01-01', '2026-11-27 08:00:00Z']) due"
    )
    schema.migrate(unmigrated)
    due = dict(
        unmigrated.call("select fingerprint, due_at at time zone 'UTC' from remand.dead_letter_groups")
    )
    assert {text: at.year for text, at in due.items()} == {
        "9999-12-31 23:59:59-14": 2999, "infinity": 2999, "0001-01-01": 1970, "2026-11-27 08:00:00Z": 2026,
    }  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ("workflow", "list", "--since", "9999999999999d"),
        ("audit", "list", "--since", "9999999999999d"),
        ("audit", "list", "--since", "0001-01-01T00:00:00+14:00"),
        ("dlq", "group", "due", "GROUP", "9999-12-31T23:59:59-14:00"),
        ("redrive", "--group", "GROUP", "--not-before", "9999-12-31T23:59:59-14:00"),
    ],
)
def test_command_line_refuses_them(
    harness: Harness, words: tuple[str, ...], command: Callable[..., str]
) -> None:
    harness.publish(shape("order", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    harness.submit("t/order", {})
    harness.run_until_quiet()
    given = [str(group_of(harness)) if word == "GROUP" else word for word in words]
    command(*given, "--by", "ann", exits=2) if words[0] in ("dlq", "redrive") else command(*given, exits=2)
