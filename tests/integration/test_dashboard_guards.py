"""What forms and addresses of the dashboard must not be talked into."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import httpx
import pytest

from remand.errors import PermanentError
from remand.redact import MASK
from remand_app.domain.access import Permission, Role
from remand_app.store.steps import get_step
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape
from tests.support.web import Web, csrf_of

pytestmark = pytest.mark.once

INPUT = {"accounts": [{"user": "a", "password": "one"}, {"user": "b", "password": "two"}]}


@pytest.fixture
def site(web: Web) -> Harness:
    return Harness(web.database, clock=web.clock, settings=web.runtime.settings)


@pytest.fixture
def broken(site: Harness) -> UUID:
    site.publish(shape("order", {"a": (), "b": "a"}))
    site.play(b=always(PermanentError("no")))
    workflow = site.submit("t/order", INPUT)
    site.run_until_quiet()
    return workflow


def post(client: httpx.Client, path: str, exits: int = 303, **form: str) -> httpx.Response:
    answer = client.post(path, data={"csrf": csrf_of(client), **form})
    assert answer.status_code == exits, (path, answer.text[:500])
    return answer


def test_an_input_typed_on_the_page_of_a_workflow_keeps_secrets_where_they_were(
    web: Web, site: Harness, broken: UUID
) -> None:
    operator = web.browser(Role.OPERATOR)
    at = f"/workflows/{broken}/retry"
    elsewhere = json.dumps({"password": MASK})
    refused = post(operator, at, step="b", input=elsewhere, exits=422)
    assert "masked value" in refused.text
    turned = [{"user": one["user"], "password": MASK} for one in reversed(INPUT["accounts"])]

    post(operator, at, step="b", input=json.dumps({"accounts": turned}))

    assert get_step(site.database, broken, "b").input == {"accounts": INPUT["accounts"][::-1]}
    check_invariants(site.database)


@pytest.mark.parametrize("verb", ["retry", "complete", "skip"])
def test_a_token_for_letters_alone_decides_on_no_step(
    web: Web, site: Harness, broken: UUID, verb: str
) -> None:
    letter = site.open_letter(broken).id
    scopes = [Permission.LETTERS_READ, Permission.LETTERS_WRITE]
    program = web.program(Role.OPERATOR, scopes=scopes)
    for path in (f"/dlq/letters/{letter}/{verb}", f"/dlq/letters/{letter}/preview/{verb}"):
        answer = program.post(path, data={"result": "1"})
        assert answer.status_code == 403, path
    assert "workflows:write" in answer.text
    assert site.states(broken)["b"] == "error"
    page = program.get(f"/dlq/letters/{letter}").text
    assert f'action="/dlq/letters/{letter}/{verb}"' not in page


def test_a_page_tells_only_what_this_session_did(web: Web, site: Harness, broken: UUID) -> None:
    operator, other = web.browser(Role.OPERATOR), web.browser(Role.OPERATOR)
    at = f"/dlq/letters/{site.open_letter(broken).id}"
    assert "call 555" not in operator.get(f"{at}?told=call+555").text

    to = post(operator, f"{at}/claim").headers["location"]

    assert "The investigation is yours." in operator.get(to).text
    assert "The investigation is yours." not in other.get(to).text
    fields = {name: one for name, [one] in parse_qs(urlsplit(to).query).items()}
    assert "call 555" not in operator.get(at, params={**fields, "told": "call 555"}).text


def test_browsers_keep_what_pages_are_made_of_and_nothing_else(web: Web) -> None:
    viewer = web.browser(Role.VIEWER)
    for path in ("/static/app.css", "/static/app.js"):
        first = viewer.get(path)
        assert first.headers["cache-control"] == "no-cache"
        again = viewer.get(path, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert viewer.get("/static/none.css").headers["cache-control"] == "no-store"
    assert viewer.get("/").headers["cache-control"] == "no-store"


def test_templates_are_paused_and_resumed_on_their_page(web: Web, site: Harness, broken: UUID) -> None:
    viewer, operator = web.browser(Role.VIEWER), web.browser(Role.OPERATOR)
    page = operator.get("/templates").text
    assert 'action="/templates/t/order/pause"' in page
    assert "/pause" not in viewer.get("/templates").text
    post(viewer, "/templates/t/order/pause", exits=403)
    post(operator, "/templates/t/none/pause", exits=404)

    post(operator, "/templates/t/order/pause", reason="the bank is closed")

    for path in ("/templates", "/templates/t/order/1"):
        page = operator.get(path).text
        assert "the bank is closed" in page
        assert "/templates/t/order/resume" in page
    assert "paused" in operator.get("/workflows").text
    post(operator, "/templates/t/order/resume")
    assert "the bank is closed" not in operator.get("/templates").text
    check_invariants(site.database)


@pytest.mark.parametrize("path", ["//evil.example/x", "///evil.example/x"])
def test_a_link_from_another_site_leads_to_no_third_one(web: Web, path: str) -> None:
    headers = {"sec-fetch-site": "cross-site"}
    answer = web.nobody().get(f"http://127.0.0.1:8484{path}", headers=headers)
    assert answer.status_code == 401
    assert "evil" not in answer.text
    assert 'content="0;url=/"' in answer.text


def test_a_character_that_cannot_be_stored_is_refused(web: Web, site: Harness, broken: UUID) -> None:
    operator = web.browser(Role.OPERATOR)
    for path in ("/dlq", "/dlq/letters"):
        assert operator.get(path, params={"namespace": "\0"}).status_code == 422
    post(operator, f"/dlq/letters/{site.open_letter(broken).id}/note", text="a\0b", exits=422)
