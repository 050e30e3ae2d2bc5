"""What a browser is shown when something does not work: a page to go on from, signed in or not."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import httpx
import pytest

from remand_app.domain.errors import DatabaseUnreachable
from tests.support.web import Web, csrf_of, sign_in

pytestmark = pytest.mark.once

ID = UUID(int=1)


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/nothing", 404, "NOT_FOUND"),
        ("/workflows/a/b/c/d", 404, "NOT_FOUND"),
        (f"/workflows/{ID}", 404, "WORKFLOW_NOT_FOUND"),
        ("/dlq/letters/7", 422, "BAD_INPUT"),
        ("/dlq/letters?status=none", 422, "INPUT_INVALID"),
        ("/audit", 403, "NOT_ALLOWED"),
        ("/login/nothing", 404, "NOT_FOUND"),
    ],
)
def test_who_is_signed_in_is_told_in_the_frame_of_the_pages(
    web: Web, path: str, status: int, code: str
) -> None:
    page = web.browser("viewer").get(path)

    assert page.status_code == status
    assert code in page.text
    assert page.headers["content-type"].startswith("text/html")
    for led in ('href="/dlq"', 'href="/workflows"', 'href="/queues"', "Sign out"):
        assert led in page.text
    assert "Nothing was changed" not in page.text


@pytest.mark.parametrize(
    ("path", "status"), [("/queues/steps/nothing", 404), ("/nothing", 404), ("/queues", 405)]
)
def test_a_change_that_does_not_work_says_that_nothing_was_changed(web: Web, path: str, status: int) -> None:
    browser = web.browser("operator")

    page = browser.post(path, data={"csrf": csrf_of(browser)})

    assert page.status_code == status
    assert "Nothing was changed" in page.text
    assert 'href="/dlq"' in page.text


def is_plain_page(page: httpx.Response, code: str) -> bool:
    """Whether it is one for strangers: with our look, a way on, and nothing of the inside."""
    assert page.headers["content-type"].startswith("text/html")
    for part in ('href="/login.css"', "<h1>", 'href="/"', code, "viewport"):
        assert part in page.text
    return "Sign out" not in page.text and 'href="/dlq"' not in page.text


def test_a_stranger_is_shown_a_page_that_tells_nothing(web: Web) -> None:
    nobody = web.nobody()
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    assert nobody.get("/nothing").headers["location"] == "/login?next=%2Fnothing"
    assert is_plain_page(nobody.get("/static/nothing.css"), "NOT_FOUND")
    assert is_plain_page(nobody.post("/nothing"), "NOT_SIGNED_IN")
    assert is_plain_page(nobody.get("/login", headers={"Host": "evil.example"}), "HOST_REFUSED")
    assert is_plain_page(nobody.post("/login", headers={"Origin": "https://evil.example"}), "NOT_ALLOWED")
    assert is_plain_page(nobody.post("/login", content=b"a&" * 3000, headers=form), "INPUT_INVALID")


def test_a_form_of_another_session_is_refused_with_a_page(web: Web) -> None:
    browser = web.browser("operator")
    del browser.headers["X-CSRF-Token"]

    assert is_plain_page(browser.post("/queues/steps/pause", data={"csrf": "x"}), "NOT_ALLOWED")


@pytest.mark.parametrize("path", ["/login", "/"])
def test_without_a_database_there_is_a_page(web: Web, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    browser = web.browser("viewer")

    def away(*_: object, **__: object) -> None:
        raise DatabaseUnreachable("Postgres does not answer")

    monkeypatch.setattr("remand_app.engine.signin._count_try", away)
    monkeypatch.setattr("remand_app.engine.signin.recognise_session", away)
    page = sign_in(browser, "grace") if path == "/login" else browser.get(path)

    assert page.status_code == 503
    assert is_plain_page(page, "DATABASE_UNREACHABLE")


@pytest.mark.parametrize("kind", ["program", "browser"])
def test_the_api_answers_in_json_whoever_asks(web: Web, kind: str) -> None:
    ask: Callable[[str], httpx.Client] = getattr(web, kind)
    client = ask("viewer")

    for path, status in (("/api/v1/nothing", 404), ("/api/v1/dlq/7", 422), ("/api/nothing", 404)):
        answer = client.get(path)
        assert answer.status_code == status
        assert set(answer.json()["error"]) == {"code", "message", "hint", "details"}
