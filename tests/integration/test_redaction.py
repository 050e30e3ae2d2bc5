"""A canary is the secret in inputs, results and texts of errors: no door shows it, nothing keeps it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.domain.access import Role
from remand_app.engine import operate
from remand_app.engine.operate import Who
from remand_app.telemetry import configure_logging
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, shape
from tests.support.web import ROUTES, Web

pytestmark = pytest.mark.once

CANARY = "cAnArY-9f31"
INPUT = {"order": 1, "password": CANARY, "deep": [{"dbPassword": CANARY, "note": f"api_key={CANARY}"}]}
TEXT = (
    f"login failed: password={CANARY}; at postgresql://app:{CANARY}@db:5432/shop and"
    f" redis://:{CANARY}@cache/0, Authorization: Bearer {CANARY}-{CANARY}"
)
KEPT = {"workflows", "steps"}
"""Tables that must hold what users gave, as they gave it: handlers work with it."""


def fail(_context: Any) -> None:
    raise sa.exc.OperationalError(f"select '{TEXT}'", {"password": CANARY}, Exception(TEXT))


@pytest.fixture
def lines(tmp_path: Path) -> Any:
    path = tmp_path / "log"
    with path.open("w") as stream:
        configure_logging("DEBUG", "json", redact_keys=("password", "token", "api_key"), stream=stream)
        yield path.read_text


@pytest.fixture
def failed(harness: Harness) -> Any:
    """A workflow whose first step went well and whose second is dead; a person looked after it."""
    harness.publish(shape("chain", CHAIN, retry={"max_attempts": 1}))
    harness.play(a=lambda context: {"token": CANARY, "fine": 1}, b=fail)
    workflow_id = harness.submit("t/chain", INPUT)
    harness.run_until_quiet()
    letter = harness.open_letter(workflow_id)
    who = Who("ann", "look")
    operate.claim_letter(harness.engine, letter.id, who)
    operate.note_letter(harness.engine, letter.id, f"it says password={CANARY}", who)
    return letter


def filled(path: str, letter: Any) -> str:
    """Fill a route's parameters with what there is."""
    ids = {"workflow_id": letter.workflow_id, "step": "b", "group_id": letter.group_id, "queue": "steps",
           "namespace": "t", "name": "chain", "version": letter.version}  # fmt: skip
    return re.sub(
        r"\{(\w+)(?::\w+)?\}",
        lambda found: str(ids.get(found[1], letter.id if found[1].endswith("id") else "nothing")),
        path,
    )


def test_the_canary_is_not_stored_but_where_handlers_need_it(failed: Any, harness: Harness) -> None:
    tables = harness.database.call(
        "select relname from pg_class c where relnamespace = 'remand'::regnamespace and relkind in ('r', 'p')"
        " and not relispartition"
    )
    found = {
        table
        for (table,) in tables
        if harness.database.call(
            f"select 1 from remand.{table} t where t::text like %s limit 1", (f"%{CANARY}%",)
        )
    }

    assert found - KEPT == set()
    assert found, "the canary never flew"


def test_the_canary_is_in_no_answer_and_on_no_page(failed: Any, web: Web) -> None:
    admin = web.browser(Role.ADMIN)
    seen, shown = 0, {}
    for route in ROUTES:
        method, path = route.split(" ")
        if method == "GET":
            answer = admin.get(filled(path, failed))
            seen += answer.status_code == 200
            if CANARY in answer.text:
                at = answer.text.index(CANARY)
                shown[route] = answer.text[max(0, at - 150) : at + 50]

    assert shown == {}
    assert seen > 10


@pytest.fixture
def place(database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", f"redis://:{CANARY}@127.0.0.1:1/0")


COMMANDS = (
    "workflow list", "workflow show {workflow}", "workflow show {workflow} --input",
    "workflow history {workflow}", "step show {workflow} a", "step show {workflow} b", "dlq list",
    "dlq show {letter}", "audit list", "queue list", "config show",
)  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_canary_is_in_no_output(
    failed: Any, form: str, place: None, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    shown = {}
    for command in COMMANDS:
        words = command.format(workflow=failed.workflow_id, letter=failed.id).split()
        code = run([*words, *(["--json"] if form == "json" else [])])
        told = capsys.readouterr()
        assert code == 0, told
        if CANARY in told.out + told.err:
            shown[command] = told.out + told.err

    assert shown == {}


def test_the_canary_is_in_no_line_of_the_log(
    lines: Callable[[], str], harness: Harness, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("failed")

    events = {json.loads(line)["event"] for line in lines().splitlines()}
    assert {"attempt.failed", "dead_letter.opened"} <= events
    assert CANARY not in lines()
