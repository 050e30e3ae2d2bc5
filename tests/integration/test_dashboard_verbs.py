"""The forms of the dashboard that hand letters on, mark them, and pause, skip and restart work."""

from __future__ import annotations

from uuid import UUID

import httpx
import pytest

from remand.errors import PermanentError
from remand_app.domain.access import Role
from remand_app.store import dead_letters
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape
from tests.support.web import Web, csrf_of

pytestmark = pytest.mark.once


@pytest.fixture
def site(web: Web) -> Harness:
    return Harness(web.database, clock=web.clock, settings=web.runtime.settings)


@pytest.fixture
def broken(site: Harness) -> UUID:
    """A workflow a -> b -> c whose second step is dead."""
    site.publish(shape("order", {"a": (), "b": "a", "c": "b"}))
    site.play(b=always(PermanentError("no")))
    workflow = site.submit("t/order", {})
    site.run_until_quiet()
    return workflow


@pytest.fixture
def operator(web: Web) -> httpx.Client:
    return web.browser(Role.OPERATOR)


def post(client: httpx.Client, path: str, exits: int = 303, **form: str) -> httpx.Response:
    answer = client.post(path, data={"csrf": csrf_of(client), **form})
    assert answer.status_code == exits, (path, answer.text[:500])
    return answer


def test_a_letter_is_handed_on_and_marked(site: Harness, broken: UUID, operator: httpx.Client) -> None:
    letter = site.open_letter(broken).id
    at = f"/dlq/letters/{letter}"
    post(operator, f"{at}/assign", assignee="bob")
    post(operator, f"{at}/release", exits=409)
    post(operator, f"{at}/label", add="bank eu")
    post(operator, f"{at}/label", remove="eu")
    post(operator, f"{at}/link", add="https://tickets.example/7")
    post(operator, f"{at}/link", exits=422, add="javascript:alert(1)")

    found = dead_letters.get_dead_letter(site.database, letter)
    assert (found.claimed_by, found.labels, found.links) == ("bob", ["bank"], ["https://tickets.example/7"])
    page = operator.get(at).text
    for title in ("Release it", "Give it to somebody", "Skip the step"):
        assert title in page

    post(operator, f"{at}/release", take_over="on")
    assert dead_letters.get_dead_letter(site.database, letter).claimed_by is None


def test_a_preview_of_a_skip_changes_nothing_and_the_skip_what_it_showed(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    at = f"/dlq/letters/{site.open_letter(broken).id}"
    shown = post(operator, f"{at}/preview/skip", exits=200).text
    assert "c" in shown
    assert site.states(broken)["c"] == "pending"

    post(operator, f"{at}/skip", reason="not needed")

    assert site.states(broken) == {"a": "complete", "b": "resolved_manually", "c": "resolved_manually"}
    check_invariants(site.database)


def test_a_workflow_is_paused_restarted_and_resumed(
    site: Harness, broken: UUID, operator: httpx.Client
) -> None:
    at = f"/workflows/{broken}"
    assert "Run it anew from here" in operator.get(f"{at}?step=b").text
    post(operator, f"{at}/pause", reason="deploy")
    assert "Resume it" in operator.get(at).text
    site.play()
    post(operator, f"{at}/restart", step="a", reason="fixed")
    site.run_until_quiet()
    assert set(site.states(broken).values()) == {"pending"}

    post(operator, f"{at}/resume")
    site.run_until_quiet()

    assert site.workflow(broken).state == "complete"
    check_invariants(site.database)
