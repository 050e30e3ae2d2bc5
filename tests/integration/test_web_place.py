"""Behind proxies, and beneath a path: who may send a form, and that everything leads where it should."""

from __future__ import annotations

import re
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest

from remand_app.domain.access import Role, csrf_token
from remand_app.engine import access
from tests.support.web import PASSWORD, WHO, InProcess, Web, sign_in

pytestmark = pytest.mark.once

WebWith = Callable[..., Web]
URL = "https://remand.example.org"
BENEATH = "https://tools.example.org/remand"
PROXY = "10.0.0.5"


def behind(web: Web, host: str, address: str = PROXY, **headers: str) -> httpx.Client:
    """Return a client whose requests come from a proxy that says `host`."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    transport = InProcess(web.app, address)
    return httpx.Client(base_url="http://upstream", transport=transport, headers={"Host": host, **told})


def status_of_login(web: Web, host: str, **headers: str) -> int:
    access.add_user(web.engine, "grace", Role.VIEWER, PASSWORD, WHO)
    return int(sign_in(behind(web, host, **headers), "grace").status_code)


# whose pages may send a form


@pytest.mark.parametrize(
    ("url", "host", "headers"),
    [
        # nginx with `proxy_pass` alone: the host that arrives is the upstream's address or name
        (URL, "127.0.0.1:8484", {"Origin": URL}),
        (URL, "127.0.0.1:8484", {"Origin": URL, "Sec_Fetch_Site": "same-origin"}),
        (URL, "remand", {"Origin": URL}),
        (f"{URL}:443", "127.0.0.1:8484", {"Origin": URL}),
        # a port of its own; `$host` is without it
        (f"{URL}:8443", "remand.example.org", {"Origin": f"{URL}:8443"}),
        ("http://remand.example.org:8080", "10.1.1.1:8484", {"Origin": "http://remand.example.org:8080"}),
        # Apache and Traefik tell the name that was asked for; each proxy appends its own
        (None, "backend:8484", {"Origin": URL, "X_Forwarded_Host": "remand.example.org"}),
        (None, "backend:8484", {"Origin": URL, "X_Forwarded_Host": "remand.example.org, inner:8080"}),
        (None, "backend:8484", {"Origin": f"{URL}:8443", "X_Forwarded_Host": "remand.example.org:8443"}),
        # nobody told us where we stand, but the browser says that it is our own page
        (None, "127.0.0.1:8484", {"Origin": URL, "Sec_Fetch_Site": "same-origin"}),
        (None, "remand.example.org:443", {"Origin": URL}),
        (BENEATH, "127.0.0.1:8484", {"Origin": "https://tools.example.org"}),
    ],
)
def test_a_page_of_ours_may_sign_in_behind_a_proxy(
    web_with: WebWith, url: str | None, host: str, headers: dict[str, str]
) -> None:
    web = web_with(dashboard_url=url, trusted_proxies=[PROXY])

    assert status_of_login(web, host, **headers) == 303


@pytest.mark.parametrize(
    ("host", "headers"),
    [
        ("127.0.0.1:8484", {"Origin": "https://evil.example"}),
        ("127.0.0.1:8484", {"Origin": "https://evil.example", "Sec_Fetch_Site": "same-origin"}),
        ("127.0.0.1:8484", {"Origin": "http://remand.example.org"}),
        ("127.0.0.1:8484", {"Origin": f"{URL}:8443"}),
        ("127.0.0.1:8484", {"Origin": f"{URL}.evil.example"}),
        ("127.0.0.1:8484", {"Origin": "null"}),
        ("127.0.0.1:8484", {"Origin": "https://"}),
        ("127.0.0.1:8484", {"Origin": "https://a:b:c"}),
        ("127.0.0.1:8484", {"Origin": URL, "Sec_Fetch_Site": "cross-site"}),
        ("127.0.0.1:8484", {"Origin": URL, "Sec_Fetch_Site": "same-site"}),
    ],
)
def test_a_page_of_another_site_may_not_behind_one_either(
    web_with: WebWith, host: str, headers: dict[str, str]
) -> None:
    web = web_with(dashboard_url=URL, trusted_proxies=[PROXY])

    assert status_of_login(web, host, **headers) == 403


def test_a_stranger_s_word_for_the_host_counts_for_nothing(web_with: WebWith) -> None:
    web = web_with(trusted_proxies=[PROXY])
    told = {"X_Forwarded_Host": "evil.example", "X_Forwarded_For": "203.0.113.9"}

    assert status_of_login(web, "127.0.0.1", address="10.0.0.6", Origin="http://evil.example", **told) == 403
    assert behind(web, "evil.example", "10.0.0.6", **told).get("/login").status_code == 421


def test_of_a_chain_of_proxies_the_last_stranger_is_the_client(web_with: WebWith) -> None:
    web = web_with(trusted_proxies=["10.0.0.0/8"])

    sign_in(behind(web, "127.0.0.1", X_Forwarded_For="1.2.3.4, 203.0.113.9:5000, 10.9.9.9"), "nobody")

    keys = {key for (key,) in web.database.call("select key from remand.login_attempts")}
    assert keys == {"account:nobody", "address:203.0.113.9"}


def test_a_redirect_never_names_the_host_that_arrived(web_with: WebWith) -> None:
    web = web_with(dashboard_url=URL, trusted_proxies=[PROXY])
    _, token = access.create_token(web.engine, "ci", Role.VIEWER, WHO)

    led = behind(web, "127.0.0.1:8484", Authorization=f"Bearer {token}").get("/dlq/")

    assert (led.status_code, led.headers["location"]) == (307, "/dlq")


# beneath a path


@pytest.fixture
def beneath(web_with: WebWith) -> Web:
    return web_with(dashboard_url=BENEATH, trusted_proxies=[PROXY])


@pytest.fixture(params=["", "/remand"], ids=["stripped", "kept"])
def browser(beneath: Web, request: pytest.FixtureRequest) -> httpx.Client:
    """A browser signed in behind a proxy that strips the path, or does not."""
    access.add_user(beneath.engine, "grace", Role.ADMIN, PASSWORD, WHO)
    client = httpx.Client(
        base_url="https://tools.example.org", transport=Stripping(beneath.app, request.param)
    )
    assert sign_in_beneath(client).status_code == 303
    return client


class Stripping(InProcess):
    """A proxy that is asked beneath /remand, and may take that off."""

    def __init__(self, app: Any, passed: str) -> None:
        super().__init__(app, PROXY)
        self._passed = passed

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path.startswith("/remand"), f"{request.url} leads elsewhere"
        inner = self._passed + request.url.raw_path.decode().removeprefix("/remand")
        sent = httpx.Request(
            request.method,
            request.url.copy_with(raw_path=inner.encode()),
            headers=request.headers,
            content=request.read(),
        )
        return super().handle_request(sent)


def sign_in_beneath(client: httpx.Client, **more: str) -> httpx.Response:
    return client.post("/remand/login", data={"name": "grace", "password": PASSWORD, **more})


def test_cookies_and_redirects_stay_beneath_the_path(browser: httpx.Client) -> None:
    browser.cookies.clear()
    answer = sign_in_beneath(browser, next="/workflows?state=error")

    assert answer.headers["location"] == "/remand/workflows?state=error"
    jar: SimpleCookie = SimpleCookie()
    for header in answer.headers.get_list("set-cookie"):
        jar.load(header)
    assert set(jar) == {"__Secure-remand_session", "__Secure-remand_device"}
    assert {one["path"] for one in jar.values()} == {"/remand"}
    assert browser.get("/remand").status_code == 200
    browser.cookies.clear()
    asked = browser.get("/remand/workflows?x=1")
    assert asked.headers["location"] == "/remand/login?next=%2Fworkflows%3Fx%3D1"
    assert browser.get("/remand/").headers["location"] == "/remand/login"


def test_every_address_in_every_page_leads_beneath_the_path(beneath: Web, browser: httpx.Client) -> None:
    pages = [
        "", "/dlq", "/dlq/triage", "/dlq/letters", "/redrives", "/workflows", "/staleness", "/queues",
        "/dead-queues", "/workers", "/sweeps", "/archive", "/breakers", "/templates", "/audit", "/login",
        "/login/link?code=x", "/dlq/letters/7", "/nothing",
    ]  # fmt: skip

    for page in pages:
        text = browser.get(f"/remand{page}").text
        led = re.findall(r'[\s"](?:href|src|action|hx-[a-z]+|data-(?!item)[a-z-]+)="(/[^"]*)', text)
        assert [one for one in led if not one.startswith("/remand")] == [], page
        assert led, page
        for one in set(led):
            if "/static/" in one or one.endswith((".css", ".js")):
                assert browser.get(one).status_code == 200, one


def test_a_form_and_what_it_tells_work_beneath_the_path(beneath: Web, browser: httpx.Client) -> None:
    secret = browser.cookies["__Secure-remand_session"]
    told = browser.post(
        "/remand/queues/steps/pause",
        data={"csrf": csrf_token(secret)},
        headers={"Origin": "https://tools.example.org"},
    )

    assert told.status_code == 303
    assert told.headers["location"].startswith("/remand/queues?told=")
    assert "steps is paused" in browser.get(told.headers["location"]).text


def test_the_api_and_its_document_say_the_path(beneath: Web, browser: httpx.Client) -> None:
    assert browser.get("/remand/api/v1/health/live").status_code == 200
    assert browser.get("/remand/api/v1/openapi.json").json()["servers"] == [{"url": "/remand/api/v1"}]
    missing = browser.get("/remand/api/v1/nothing")
    assert missing.json()["error"]["code"] == "NOT_FOUND"
    stream = browser.get("/remand/live")
    assert stream.headers["content-type"].startswith("text/event-stream")


def test_who_reaches_it_directly_is_led_beneath_the_path(beneath: Web) -> None:
    direct = beneath.nobody()

    assert direct.get("/").headers["location"] == "/remand/login"
    assert direct.get("/remand/login").status_code == 200
    assert direct.get("/api/v1/health/live").status_code == 200


def test_an_error_leads_back_to_the_page_it_came_from(browser: httpx.Client) -> None:
    page = browser.get("/remand/dlq/groups/7", headers={"Referer": f"{BENEATH}/dlq?x=1"})

    assert 'href="/remand/dlq"' in page.text
    assert "/remand/remand" not in page.text


def test_a_text_is_not_taken_for_an_address(beneath: Web, browser: httpx.Client) -> None:
    page = browser.get("/remand/workflows", params={"q": ' href="/elsewhere"'})

    assert "/remand/elsewhere" not in page.text
