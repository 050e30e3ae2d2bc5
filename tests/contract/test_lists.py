"""Every list of every noun has one shape at every door, and says how it goes on.

The tables below name every list there is: one that is in none of them fails the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand import PermanentError
from remand_app.api import app as api
from remand_app.cli.invoke import run
from remand_app.cli.words import every_command
from remand_app.domain.access import Role
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.engine import access
from remand_app.engine.archive import run as archive
from remand_app.engine.dead_queues import create_dead_queue
from remand_app.engine.enqueue_notifications import enqueue_many
from remand_app.engine.operate.breakers import open_breaker
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.store.database import Database
from remand_app.store.ids import first_id_at
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.shapes import always, shape
from tests.support.web import WHO, Web

Ask = Callable[..., Any]
SHAPE = ["items", "next", "total"]
MORE = {"notify list": ["targets"], "workflow list": ["looked_back_to"]}
"""What a list tells beside its items."""

PAGED = {
    "workflow list": "/workflows",
    "dlq list": "/dlq",
    "dlq triage": "/dlq/investigation-queue",
    "dlq groups": "/dlq/groups",
    "dlq redrive list": "/redrives",
    "dlq redrive items {redrive}": "/redrives/{redrive}/items",
    "stale --list": "/dlq/staleness?health=healthy&health=warning&health=stale",
    "audit list": "/audit",
    "notify list": "/notifications",
    "archive runs": "/archive/runs",
    "classify --unclassified": None,
    "stale --dry-run": None,
}
"""Lists that may be long: the command and its route."""
WHOLE = {
    "template list": "/templates",
    "queue list": "/queues",
    "dlq queue list": "/dead-queues",
    "breaker list": "/breakers",
    "sweeps": "/sweeps",
    "workflow history {workflow}": "/workflows/{workflow}/history",
    "retention": None,
    "token list": None,
    "user list": None,
    "classify --rules": None,
}
"""Lists that a command tells whole."""
ONLY_ROUTES = (
    "/archive",
    "/workers",
    "/notifications/targets",
    "/workflows/{workflow_id}/steps",
    "/workflows/{workflow_id}/steps/{step}/attempts",
    "/dlq/{letter_id}/notes",
    "/dlq/{letter_id}/suggestions",
    "/dlq/groups/{group_id}/suggestions",
    "/templates/{namespace}/{name}/versions",
)
NO_LIST = {"partitions list": "an object: what lies outside the periods counts as much"}
NEVER_COUNTED = ("stale --list",)
"""Their order changes with the clock: they are not counted."""


@pytest.fixture
def clock() -> FakeClock:
    """The command line reads Postgres' clock: the engine of these tests must live in the same time."""
    return FakeClock(datetime.now(UTC))


@pytest.fixture(autouse=True)
def place(database_url: str, any_broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.setenv("REMAND_USER", "ann")


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[str, str]]:
    def ask(*words: object) -> tuple[str, str]:
        capsys.readouterr()
        code = run([str(word) for word in words])
        shown = capsys.readouterr()
        assert code == 0, f"{words}: {code}\n{shown.out}\n{shown.err}"
        return shown.out, shown.err

    return ask


@pytest.fixture
def answer(told: Callable[..., tuple[str, str]]) -> Ask:
    return lambda *words: json.loads(told(*words, "--json")[0].splitlines()[-1])


@pytest.fixture
def reader(web: Web) -> httpx.Client:
    return web.program(Role.ADMIN)


@pytest.fixture
def full(database: Database, clock: FakeClock, answer: Ask) -> dict[str, UUID]:
    """Three of everything that lists show; return the ids that some lists ask for."""
    long_ago = clock.now - timedelta(days=100)
    past = Harness(database, FakeClock(long_ago))
    for number in range(3):
        past.publish(shape("old", {"a": ()}))
        past.play()
        submit(
            past.engine,
            "t/old",
            SubmitRequest({}, id=UUID(int=first_id_at(long_ago).int + number)),
            by="test",
        )
        past.run_until_quiet()
        archive(Harness(database, clock).engine)
    target = {"name": "pager", "url": "http://127.0.0.1:1/", "min_interval_seconds": 0}
    harness = Harness(database, clock=clock, settings=settings_for(notify={"targets": [target]}))
    dead = []
    for name in ("one", "two", "three"):
        harness.publish(shape(name, {"a": ()}))
        harness.play(a=always(PermanentError("card declined")))
        dead.append(harness.submit(f"t/{name}"))
        harness.run_until_quiet()
        answer("dlq", "note", dead[-1], "seen")
        open_breaker(harness.engine, f"{name}-api", by="ann", reason=None)
        create_dead_queue(harness.engine, f"{name}-dead", WHO)
        access.add_user(harness.engine, name, Role.VIEWER, "seven wet otters", WHO)
        with database.begin() as connection:
            notice = Notice(NotificationKind.GROUP_OPENED, name, "about it")
            enqueue_many(connection, harness.settings, [notice], clock.now)
        harness.play(a=always(type(f"Odd{name}", (Exception,), {})("odd")))
        harness.submit(f"t/{name}")
        harness.run_until_quiet()
    for _ in range(3):
        redrive = answer("dlq", "redrive", "start", "--all", "--yes", "--reason", "fixed", "--rate", "0.001")
    return {"redrive": redrive["id"], "workflow": dead[0]}


def words_of(command: str, known: dict[str, UUID]) -> list[str]:
    return command.format(**known).split()


def test_every_list_of_the_command_line_is_in_a_table() -> None:
    named = {" ".join(one for one in path.split() if one[0] not in "-{") for path in (*PAGED, *WHOLE)}
    listing = {path for path in every_command() if path.split()[-1] in {"list", "groups", "triage"}}
    limited = {
        path
        for path, told in every_command().items()
        if any("--limit" in one["declarations"] for one in told["parameters"])
    }
    assert listing | limited <= named | set(NO_LIST) | {"archive status"}


def test_what_may_be_long_is_read_on_by_one_option() -> None:
    for path, told in every_command().items():
        options = {
            flag
            for one in told["parameters"]
            if not one["more"].get("hidden")
            for flag in one["declarations"]
        }
        assert "--cursor" not in options, path
        if "--limit" in options and path != "archive status":
            assert "--after" in options, path


def test_every_list_of_the_api_has_the_one_shape(web: Web) -> None:
    document = api.build(web.runtime).openapi()
    pages, arrays = set(), set()
    for path, operations in document["paths"].items():
        if "get" not in operations:
            continue
        schema = operations["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        found = schema if "$ref" not in schema else document["components"]["schemas"][_name(schema["$ref"])]
        if found.get("type") == "array":
            arrays.add(path)
        if "items" in found.get("properties", {}):
            assert list(found["properties"])[:3] == SHAPE, path
            pages.add(path)
            given = {one["name"] for one in operations["get"].get("parameters", ())}
            assert ("limit" in given) == ("cursor" in given), path

    assert arrays == set()
    routes = {one.partition("?")[0] for one in (*PAGED.values(), *WHOLE.values()) if one is not None}
    routes = {
        one.replace("{workflow}", "{workflow_id}").replace("{redrive}", "{redrive_id}") for one in routes
    }
    assert pages == routes | set(ONLY_ROUTES)


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def test_an_empty_list_has_the_same_shape(harness: Harness, answer: Ask) -> None:
    harness.publish(shape("one", {"a": ()}))
    workflow = harness.submit("t/one")

    for command in (*PAGED, *WHOLE):
        if "{redrive}" not in command:
            found = answer(*words_of(command, {"workflow": workflow}))
            assert list(found) == [*SHAPE, *MORE.get(command, [])], command
            assert (found["next"], found["total"]) == (None, len(found["items"])), command


def test_a_list_that_is_read_page_by_page_is_the_list(full: dict[str, UUID], answer: Ask, told: Ask) -> None:
    for command in PAGED:
        if command == "stale --dry-run":
            continue
        words = words_of(command, full)
        whole = answer(*words, "--limit", "1000")
        assert len(whole["items"]) >= 3, command
        assert (whole["next"], whole["total"]) == (None, len(whole["items"])), command

        pages = list(read_on(answer, words))
        assert [_identity(one) for page in pages for one in page["items"]] == [
            _identity(one) for one in whole["items"]
        ], command
        assert {tuple(page) for page in pages} == {(*SHAPE, *MORE.get(command, []))}, command
        counted = None if command in NEVER_COUNTED else whole["total"]
        assert [page["total"] for page in pages] == [counted] + [None] * (len(pages) - 1), command

        out, err = told(*words, "--limit", "2")
        count = "2, and more" if counted is None else f"2 of {counted}"
        assert f"{count}; next: --after {pages[0]['next']}" in err, command
        assert "--after" not in out, command


def read_on(answer: Ask, words: list[str]) -> Iterator[dict[str, Any]]:
    after: list[str] = []
    while True:
        page = answer(*words, "--limit", "2", *after)
        yield page
        if page["next"] is None:
            return
        after = ["--after", page["next"]]


def test_command_line_and_api_answer_alike(full: dict[str, UUID], answer: Ask, reader: httpx.Client) -> None:
    for command, route in {**PAGED, **WHOLE}.items():
        if route is None:
            continue
        limit = ["--limit", "2"] if command in PAGED else []
        asked = f"{route}{'&' if '?' in route else '?'}{'limit=2' if limit else ''}".format(**full)

        typed = answer(*words_of(command, full), *limit)
        sent = reader.get(f"/api/v1{asked}").json()

        assert typed["items"], command
        assert [_identity(one) for one in typed["items"]] == [_identity(one) for one in sent["items"]], (
            command
        )
        assert (typed["next"], typed["total"]) == (sent["next"], sent["total"]), command
        assert [set(one) for one in typed["items"]] == [set(one) for one in sent["items"]], command


def _identity(item: dict[str, Any]) -> Any:
    names = ("id", "letter_id", "workflow_id", "name", "queue", "fingerprint", "template", "seq")
    return [item[name] for name in names if name in item] or item
