"""What the server refuses, and what it never says, whoever asks how."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import structlog

from remand_app.domain.access import Permission
from remand_app.domain.errors import AddressTaken, BrokerUnreachable, NobodyCouldSignIn
from remand_app.engine import access, signin
from remand_app.server import _listen
from remand_app.store.database import Database
from remand_app.telemetry import configure_logging
from tests.support.web import ADDRESS, PASSWORD, WHO, Web, csrf_of, sign_in

pytestmark = pytest.mark.once

ME = "/api/v1/workflows"
PAUSE = ("PATCH", "/api/v1/queues/steps", {"action": "pause", "reason": "deploy"})
WebWith = Callable[..., Web]


def change(client: httpx.Client, **headers: str) -> httpx.Response:
    method, path, body = PAUSE
    return client.request(method, path, json=body, headers=headers)


def code_of(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["code"])


def is_paused(web: Web) -> bool:
    return bool(web.database.call("select 1 from remand.pauses"))


# who is let in


def test_nobody_is_let_in_without_a_token(web: Web) -> None:
    nobody = web.nobody()

    answer = nobody.get(ME)
    assert (answer.status_code, code_of(answer)) == (401, "NOT_SIGNED_IN")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert change(nobody).status_code == 401
    page = nobody.get("/workflows?state=error&x=1")
    assert (page.status_code, page.headers["location"]) == (
        303,
        "/login?next=%2Fworkflows%3Fstate%3Derror%26x%3D1",
    )
    assert nobody.post("/anything").status_code == 401


def test_a_path_that_is_none_tells_nobody_so(web: Web) -> None:
    nobody, viewer = web.nobody(), web.program("viewer")

    assert nobody.get("/api/v1/nothing").status_code == 401
    assert nobody.get("/static/../workflows").status_code in {303, 404}
    assert nobody.get("/static/%2e%2e/workflows").status_code in {303, 404}
    missing = viewer.get("/api/v1/nothing")
    assert (missing.status_code, code_of(missing)) == (404, "NOT_FOUND")
    assert viewer.get("/nothing").status_code == 404
    assert viewer.delete(ME).status_code == 405


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Basic dGVzdDp0ZXN0", "Bearer rmd_wrong", "rmd_x", ""]
)
def test_what_is_no_token_is_refused_even_beside_a_session(web: Web, header: str) -> None:
    browser = web.browser("admin")

    assert browser.get(ME, headers={"Authorization": header}).status_code == 401


def test_a_token_in_the_address_is_no_token(web: Web) -> None:
    _, secret = access.create_token(web.engine, "ci", access.Role.ADMIN, WHO)

    assert web.nobody().get(f"{ME}?token={secret}&access_token={secret}").status_code == 401


def test_a_scope_narrows_a_role(web: Web) -> None:
    narrow = web.program("admin", scopes=[Permission.QUEUES_READ, Permission.LETTERS_WRITE])

    assert narrow.get("/api/v1/queues").status_code == 200
    refused = change(narrow)
    assert (refused.status_code, code_of(refused)) == (403, "NOT_ALLOWED")
    assert refused.json()["error"]["details"] == {"needs": "queues:write", "role": "admin"}
    assert narrow.get(ME).status_code == 403
    assert not is_paused(web)


def test_a_decision_over_the_api_is_recorded_under_the_tokens_name(web: Web) -> None:
    assert change(web.program("operator", "ci")).status_code == 200

    assert web.database.call("select by, via from remand.audit_log where verb = 'queue.pause'") == [
        ("token:ci", "api")
    ]


def test_a_token_revoked_between_two_requests_is_out(web: Web) -> None:
    program = web.program("viewer", "ci")
    assert program.get(ME).status_code == 200

    access.revoke_token(web.engine, "ci", WHO)

    assert program.get(ME).status_code == 401


# signing in


def test_signing_in_opens_a_session_in_a_cookie_no_script_can_read(web: Web) -> None:
    browser = web.browser("viewer", "grace")

    assert browser.get("/").status_code == 200
    assert browser.get(ME).status_code == 200
    access.disable_user(web.engine, "grace", WHO)
    assert browser.get("/").status_code == 303
    assert browser.get(ME).status_code == 401


def cookies(answer: httpx.Response) -> dict[str, Any]:
    jar: SimpleCookie = SimpleCookie()
    for header in answer.headers.get_list("set-cookie"):
        jar.load(header)
    return dict(jar.items())


def test_cookies_are_for_this_site_and_no_script(web: Web) -> None:
    access.add_user(web.engine, "grace", access.Role.VIEWER, PASSWORD, WHO)

    given = cookies(sign_in(web.nobody(), "grace"))

    assert set(given) == {"remand_session", "remand_device"}
    for cookie in given.values():
        assert cookie["httponly"] is True
        assert cookie["samesite"] == "strict"
        assert cookie["path"] == "/"
        assert not cookie["domain"]


def test_behind_tls_cookies_go_by_tls_alone(web_with: WebWith) -> None:
    web = web_with(dashboard_url="https://remand.example")
    access.add_user(web.engine, "grace", access.Role.VIEWER, PASSWORD, WHO)
    browser = web.nobody(base_url="https://remand.example")

    answer = sign_in(browser, "grace")

    given = cookies(answer)
    assert set(given) == {"__Host-remand_session", "__Host-remand_device"}
    assert all(cookie["secure"] is True for cookie in given.values())
    assert answer.headers["Strict-Transport-Security"]
    assert browser.get("/").status_code == 200


def test_a_wrong_password_is_told_on_the_page_and_too_many_with_a_time(web: Web) -> None:
    access.add_user(web.engine, "grace", access.Role.VIEWER, PASSWORD, WHO)
    browser = web.nobody()

    wrong = sign_in(browser, "grace", "guess")
    assert wrong.status_code == 401
    assert "the name or the password is wrong" in wrong.text
    assert "guess" not in wrong.text
    for _ in range(4):
        sign_in(browser, "grace", "guess")
    late = sign_in(browser, "grace")
    assert late.status_code == 429
    assert late.headers["Retry-After"] == "1"
    assert not cookies(late)
    assert web.nobody(address="192.0.2.1").get("/login").status_code == 200


def test_signing_in_ends_the_session_there_was(web: Web) -> None:
    browser = web.browser("viewer", "grace")
    before = browser.cookies["remand_session"]

    sign_in(browser, "grace")

    assert browser.cookies["remand_session"] != before
    assert signin.recognise_session(web.engine, before) is None


def test_signing_out_ends_the_session_at_the_server(web: Web) -> None:
    browser = web.browser("viewer")
    secret = browser.cookies["remand_session"]

    assert browser.post("/logout").headers["location"] == "/login"

    assert signin.recognise_session(web.engine, secret) is None
    assert "remand_session" not in browser.cookies


@pytest.mark.parametrize(
    ("wanted", "target"),
    [
        ("/letters?x=1", "/letters?x=1"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/x\r\nSet-Cookie: a=b", "/"),
        ("", "/"),
    ],
)
def test_signing_in_leads_nowhere_else(web: Web, wanted: str, target: str) -> None:
    access.add_user(web.engine, "grace", access.Role.VIEWER, PASSWORD, WHO)

    assert sign_in(web.nobody(), "grace", next=wanted).headers["location"] == target


def test_what_is_typed_is_no_markup(web: Web) -> None:
    nobody = web.nobody()
    evil = '"><script>alert(1)</script>'

    for page in (
        sign_in(nobody, evil, "x"),
        nobody.get("/login", params={"next": f"/{evil}"}),
        nobody.get("/login/link", params={"code": evil}),
        web.program("viewer").get(f"/{evil}"),
        nobody.get(f"/x{evil}", headers={"Sec-Fetch-Site": "cross-site"}),
    ):
        assert "<script>" not in page.text


def test_a_link_signs_in_once_and_looking_at_it_does_not_use_it_up(web: Web) -> None:
    code = access.create_login_code(web.engine, "me", access.Role.ADMIN, WHO)
    browser, other = web.nobody(), web.nobody()
    for _ in range(2):
        assert code in browser.get("/login/link", params={"code": code}).text

    opened = browser.post("/login/link", data={"code": code})

    assert opened.status_code == 303
    assert browser.get("/").status_code == 200
    assert other.post("/login/link", data={"code": code}).status_code == 401
    assert other.get("/").status_code == 303


def test_a_link_from_another_site_comes_in_by_a_page_of_ours(web: Web) -> None:
    page = web.nobody().get("/letters?a=1&b=2", headers={"Sec-Fetch-Site": "cross-site"})

    assert page.status_code == 401
    assert 'content="0;url=/letters?a=1&amp;b=2"' in page.text
    assert web.nobody().get("/", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303


# changes that another site's page sends


def test_a_change_by_cookie_needs_the_token_of_the_session(web: Web) -> None:
    browser, other = web.browser("operator"), web.browser("operator")
    good = csrf_of(browser)
    del browser.headers["X-CSRF-Token"]

    for token in (None, "", "x", csrf_of(other), good.upper()):
        refused = change(browser, **({} if token is None else {"X-CSRF-Token": token}))
        assert (refused.status_code, code_of(refused)) == (403, "NOT_ALLOWED")
    assert not is_paused(web)
    assert change(browser, **{"X-CSRF-Token": good}).status_code == 200
    assert is_paused(web)


def test_a_form_may_carry_the_token_as_a_field(web: Web) -> None:
    browser = web.browser("viewer")
    good = csrf_of(browser)
    del browser.headers["X-CSRF-Token"]

    assert browser.post("/logout", data={"csrf": "x"}).status_code == 403
    assert browser.post("/logout", data={"csrf": good}).status_code == 303


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_change_from_another_site_is_refused_even_with_the_token(web: Web, headers: dict[str, str]) -> None:
    browser = web.browser("operator")

    assert change(browser, **headers).status_code == 403
    assert sign_in(web.nobody(headers=headers), "grace").status_code == 403
    assert not is_paused(web)
    assert change(browser, Origin=ADDRESS, **{"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_programs_need_no_such_token(web: Web) -> None:
    assert change(web.program("operator"), Origin="https://tool.example").status_code == 200


# names and addresses


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "", "remand.example"]
)
def test_names_that_are_not_ours_are_refused(web: Web, host: str) -> None:
    answer = web.nobody().get("/api/v1/health/live", headers={"Host": host})

    assert (answer.status_code, code_of(answer)) == (421, "HOST_REFUSED")


@pytest.mark.parametrize(
    "host", ["localhost:1", "127.0.0.1", "[::1]:8484", "10.1.2.3:8484", "LOCALHOST", "tool.local"]
)
def test_names_and_addresses_that_are_ours_are_answered(web_with: WebWith, host: str) -> None:
    web = web_with(allowed_hosts=["tool.local"])

    assert web.nobody().get("/api/v1/health/live", headers={"Host": host}).status_code == 200


# what is too much, or not what it says


def test_a_body_that_is_too_large_is_refused_however_it_comes(web_with: WebWith) -> None:
    web = web_with(max_body_bytes=2000)
    program = web.program("operator")

    def parts() -> Any:
        for _ in range(300):
            yield b" " * 10

    for content in (b" " * 2001, parts()):
        answer = program.post(ME, content=content)
        assert (answer.status_code, code_of(answer)) == (413, "BODY_TOO_LARGE")
    assert program.post(ME, content=b" " * 2000).status_code in {400, 422}
    # Nobody makes the server read anything.
    assert web.nobody().post(ME, content=b" " * 2001).status_code == 401


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b'{"a": NaN', b"[" * 100_000])
def test_what_is_no_json_is_told_so(web: Web, content: bytes) -> None:
    answer = web.program("operator").post(ME, content=content, headers={"Content-Type": "application/json"})

    assert answer.status_code in {400, 422}
    assert set(answer.json()["error"]) == {"code", "message", "hint", "details"}


# what is never told


@pytest.mark.parametrize("path", ["/", "/login", "/api/v1/health/live", ME, "/nothing", "/login.css"])
def test_every_answer_has_safe_headers(web: Web, path: str) -> None:
    for client in (web.nobody(), web.program("viewer")):
        headers = client.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["X-Request-Id"]
        assert "access-control-allow-origin" not in headers
        if not path.endswith(".css"):
            assert headers["Cache-Control"] == "no-store"


def test_pages_to_sign_in_keep_to_the_policy() -> None:
    for page in Path("app/remand_app/web").glob("*.html"):
        text = page.read_text()
        assert " style=" not in text
        assert not re.search(r"\son\w+=", text)
        assert "<script>" not in text
        assert "<style" not in text


@pytest.fixture
def lines(tmp_path: Path) -> Any:
    path = tmp_path / "log"
    with path.open("w") as stream:
        configure_logging("INFO", "json", redact_keys=("password",), stream=stream)
        # The client of these tests logs, too.
        yield lambda: [
            line for line in map(json.loads, path.read_text().splitlines()) if line["logger"] != "httpx"
        ]
    structlog.reset_defaults()


@pytest.mark.parametrize(
    ("path", "part"),
    [("/api/v1/queues", "remand_app.engine.overview.queues"), ("/login", "remand_app.web.pages.render")],
)
def test_what_nobody_foresaw_is_told_by_its_id_alone(
    web: Web, monkeypatch: pytest.MonkeyPatch, lines: Any, path: str, part: str
) -> None:
    browser = web.browser("admin")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret innards at postgresql://me:hush@db/x")

    monkeypatch.setattr(part, broken)
    answer = browser.get(path)

    assert answer.status_code == 500
    assert "innards" not in answer.text
    assert "hush" not in answer.text
    assert "Traceback" not in answer.text
    request_id = answer.headers["X-Request-Id"]
    assert request_id in answer.text
    [told] = [line for line in lines() if line["event"] == "request.failed"]
    assert (told["request_id"], told["error"]) == (request_id, "RuntimeError")
    assert "innards" in told["exception"]
    assert "hush" not in json.dumps(lines())


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/login",
        "/login/link?code=x",
        "/api/v1/health/ready",
        "/api/v1/health",
        ME,
        "/metrics",
        "/static/x",
    ],
)
@pytest.mark.parametrize("who", ["nobody", "program", "browser"])
def test_strangers_never_learn_where_the_servers_are(web_with: WebWith, path: str, who: str) -> None:
    web = web_with()
    client = getattr(web, who)(*(() if who == "nobody" else ("viewer",)))
    for part in (web.runtime, web.engine):
        object.__setattr__(part, "database", Database("postgresql://me:hush@127.0.0.1:1/ledger"))
    form = {"name": "grace", "password": PASSWORD, "code": "x"}

    for answer in (client.get(path), client.post(path, data=form)):
        said = f"{answer.headers} {answer.text}"
        assert not [word for word in ("127.0.0.1:1", "ledger", "hush", "Postgres at") if word in said]


@pytest.mark.parametrize(("role", "learns"), [("viewer", False), ("operator", True)])
def test_health_tells_operators_alone_where_the_servers_are(
    web: Web, monkeypatch: pytest.MonkeyPatch, role: str, learns: bool
) -> None:
    def away() -> None:
        raise BrokerUnreachable("the broker at 127.0.0.1:1 is not usable")

    monkeypatch.setattr(web.bell, "check", away)
    checks = web.program(role).get("/api/v1/health").json()["checks"]

    [found] = [one for one in checks if one["name"] == "broker"]
    assert found["ok"] is False
    assert ("127.0.0.1:1" in found["message"]) is learns


def test_a_database_that_is_away_is_told_without_its_password(
    web_with: WebWith, database: Database, lines: Any
) -> None:
    web = web_with()
    program = web.program("admin")
    gone = Database("postgresql://me:hush@127.0.0.1:1/x")
    for part in (web.runtime, web.engine):
        object.__setattr__(part, "database", gone)

    answer = program.get(ME)

    assert (answer.status_code, code_of(answer)) == (503, "DATABASE_UNREACHABLE")
    assert "hush" not in answer.text
    [told] = [line for line in lines() if line["event"] == "request.unserved"]
    assert told["request_id"] in answer.text
    assert "127.0.0.1:1/x" in told["error"]
    assert "hush" not in told["error"]
    assert web.nobody().get("/api/v1/health/live").status_code == 200


def test_log_lines_carry_neither_tokens_nor_passwords_nor_queries(web: Web, lines: Any) -> None:
    program = web.program("viewer")
    access.add_user(web.engine, "grace", access.Role.VIEWER, PASSWORD, WHO)
    code = access.create_login_code(web.engine, "me", access.Role.ADMIN, WHO)
    browser = web.nobody()

    program.get(f"{ME}?label=hush")
    browser.get("/login/link", params={"code": code})
    sign_in(browser, "grace")
    sign_in(browser, "grace", "guess-hush")

    text = json.dumps(lines())
    assert {"request.ended", "access.signed_in", "access.refused"} <= {line["event"] for line in lines()}
    for secret in (
        program.headers["Authorization"].split()[1],
        code,
        PASSWORD,
        "hush",
        browser.cookies["remand_session"],
    ):
        assert secret not in text
    [ended] = [line for line in lines() if line["event"] == "request.ended" and line["path"] == ME]
    assert (ended["by"], ended["status"], ended["method"]) == ("token:viewer-0", 200, "GET")


# where it listens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "remand.example"])
def test_beyond_loopback_it_listens_only_once_somebody_could_sign_in(web: Web, host: str) -> None:
    with pytest.raises(NobodyCouldSignIn) as refused:
        access.check_reach(web.engine, host)
    assert "remand user add" in refused.value.hint

    access.create_token(web.engine, "ci", access.Role.VIEWER, WHO)

    access.check_reach(web.engine, host)
    access.revoke_token(web.engine, "ci", WHO)
    with pytest.raises(NobodyCouldSignIn):
        access.check_reach(web.engine, host)
    access.add_user(web.engine, "grace", access.Role.VIEWER, PASSWORD, WHO)
    access.check_reach(web.engine, host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_on_loopback_it_listens_always(web: Web, host: str) -> None:
    access.check_reach(web.engine, host)


def test_an_address_that_is_taken_is_told(web: Web) -> None:
    with _listen("127.0.0.1", 0) as door, pytest.raises(AddressTaken, match=str(door.getsockname()[1])):
        _listen("127.0.0.1", door.getsockname()[1])


def test_a_socket_of_another_kind_is_closed(web: Web) -> None:
    sent: list[Any] = []

    async def knock() -> None:
        async def receive() -> Any:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await web.app({"type": "websocket", "path": "/", "headers": []}, receive, send)

    anyio.run(knock)
    assert sent == [{"type": "websocket.close", "code": 1008}]
