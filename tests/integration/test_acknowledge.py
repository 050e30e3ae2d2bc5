"""A verb that one row and one function make, at each door: somebody has looked at a workflow."""

from __future__ import annotations

from uuid import UUID

import pytest

import app.cli.main  # noqa: F401 - registers the commands
from app.cli.invoke import run
from app.domain.access import Role
from app.store import audit
from app.store.ids import new_id
from tests.support.engine import Harness
from tests.support.shapes import CHAIN, shape
from tests.support.web import Web, csrf_of


@pytest.fixture
def workflow(web: Web) -> UUID:
    harness = Harness(web.database, web.clock, web.bell, web.runtime.settings)
    harness.publish(shape("chain", CHAIN))
    return harness.submit("t/chain", {})


def written(web: Web, workflow: UUID) -> list[tuple[str, str, str | None]]:
    page = audit.list_page(web.database, audit.Filter(verb="workflow.acknowledge", workflow_id=workflow))
    return [(entry.by, entry.via, entry.reason) for entry in page.items]


def test_the_api_writes_it_down_and_a_dry_run_does_not(web: Web, workflow: UUID) -> None:
    client, path = web.program("operator", "ann"), f"/api/v1/workflows/{workflow}"
    given = {"action": "acknowledge", "reason": "waits for the bank"}

    assert client.patch(path, json={**given, "dry_run": True}).status_code == 200
    assert written(web, workflow) == []
    told = client.patch(path, json=given).json()

    assert (told["before"], told["after"], told["changed"]) == ("steps_in_process", "steps_in_process", False)
    assert written(web, workflow) == [("token:ann", "api", "waits for the bank")]
    missing = client.patch(f"/api/v1/workflows/{new_id()}", json=given)
    assert missing.json()["error"]["code"] == "WORKFLOW_NOT_FOUND"


def test_the_dashboard_has_its_form(web: Web, workflow: UUID) -> None:
    browser, path = web.browser(Role.OPERATOR, "bob"), f"/workflows/{workflow}"
    assert "Say that you have looked at it" in browser.get(path).text

    done = browser.post(f"{path}/acknowledge", data={"csrf": csrf_of(browser), "reason": "waits"})

    assert done.status_code == 303
    assert written(web, workflow) == [("bob", "dashboard", "waits")]


def test_the_command_line_has_its_command(
    web: Web,
    workflow: UUID,
    any_broker_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("REMAND_DATABASE_URL", web.database.url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)

    assert run(["workflow", "acknowledge", str(workflow), "--reason", "waits", "--by", "cleo"]) == 0

    assert "steps_in_process, as it was" in capsys.readouterr().out
    assert written(web, workflow) == [("cleo", "cli", "waits")]
