"""The server behind real proxies, as the examples of ops/proxy configure them, and as they are by default."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Self

import httpx
import pytest
import yaml

from remand_app.domain.access import Role, csrf_token
from remand_app.embedded.stack import free_port
from remand_app.engine import access
from tests.support.listening import Listening
from tests.support.proxies import EXAMPLES, UPSTREAM, apache, caddy, named, nginx
from tests.support.web import PASSWORD, WHO, Web

pytestmark = pytest.mark.once

Run = Callable[[Path, str, int], AbstractContextManager[None]]
TLS = "ssl_certificate /etc/ssl/certs/remand.pem; ssl_certificate_key /etc/ssl/private/remand.key;"
APACHE_TLS = """
SSLEngine on
SSLCertificateFile /etc/ssl/certs/remand.pem
SSLCertificateKeyFile /etc/ssl/private/remand.key
"""


def example(name: str) -> str:
    return (EXAMPLES / name).read_text()


def nginx_with(locations: str) -> str:
    return f"server {{ listen 443 ssl; {TLS}\n{locations}\n}}"


def apache_with(directives: str) -> str:
    return f"<VirtualHost *:443>\n{APACHE_TLS}\n{directives}\n</VirtualHost>"


def beneath(text: str) -> str:
    """Return what the comment of an example says of a path."""
    [said] = re.findall(r"#   (tools.*?\n)#   }", text, re.DOTALL)
    return str(said).replace("#   ", "").replace("tools.example.org", "remand.example.org") + "}\n"


CASES: dict[str, tuple[Run, str, str]] = {
    "nginx-example": (nginx, example("nginx.conf"), ""),
    "nginx-default": (nginx, nginx_with(f"location / {{ proxy_pass http://{UPSTREAM}; }}"), ""),
    "nginx-path-off": (nginx, nginx_with(example("nginx-path.conf")), "/remand"),
    "nginx-path-on": (nginx, nginx_with(example("nginx-path.conf").replace("8484/;", "8484;")), "/remand"),
    "apache-example": (apache, example("apache.conf"), ""),
    "apache-default": (apache, apache_with(f"ProxyPass / http://{UPSTREAM}/"), ""),
    "apache-path-off": (apache, apache_with(example("apache-path.conf")), "/remand"),
    "caddy-example": (caddy, example("Caddyfile"), ""),
    "caddy-path-on": (caddy, beneath(example("Caddyfile")), "/remand"),
    "apache-path-on": (apache, apache_with(f"ProxyPass /remand http://{UPSTREAM}/remand"), "/remand"),
}
TELLS_THE_ADDRESS = {name for name in CASES if name != "nginx-default"}


class Behind:
    """A server behind a proxy, and the way a browser goes to it."""

    def __init__(self, server: Listening, url: str) -> None:
        self.server, self.url = server, url
        self.origin = re.sub(r"(?<=\d)/.*", "", url)
        host = httpx.URL(url).host
        self.browser = httpx.Client(transport=named(host), headers={"Origin": self.origin}, timeout=20)
        self.program = httpx.Client(transport=named(host), timeout=20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()
        self.program.close()

    def get(self, path: str) -> httpx.Response:
        answer = self.browser.get(self.url + path, follow_redirects=True)
        assert str(answer.url).startswith(self.url)
        return answer

    def sign_in(self) -> httpx.Response:
        access.add_user(self.server.web.engine, "grace", Role.ADMIN, PASSWORD, WHO)
        page = self.get("/")
        assert str(page.url).startswith(f"{self.url}/login")
        [action] = re.findall(r'action="([^"]+)"', page.text)
        form = {"name": "grace", "password": PASSWORD}
        return self.browser.post(self.origin + action, data=form)


@pytest.fixture(params=list(CASES))
def behind(request: pytest.FixtureRequest, web_with: Callable[..., Web], tmp_path: Path) -> Iterator[Behind]:
    run, site, path = CASES[request.param]
    port = free_port()
    url = f"https://remand.example.org:{port}{path}"
    with ExitStack() as stack:
        server = stack.enter_context(Listening(web_with(dashboard_url=url, trusted_proxies=["127.0.0.1"])))
        own = "{}:{}".format(*server.address)
        stack.enter_context(run(tmp_path, site.replace(UPSTREAM, own), port))
        yield stack.enter_context(Behind(server, url))


def test_everything_works_behind_a_proxy(behind: Behind, request: pytest.FixtureRequest) -> None:
    # signing in
    assert behind.sign_in().status_code == 303
    assert "Sign out" in behind.get("/").text
    assert behind.get("/dlq/").status_code == 200
    if request.node.callspec.params["behind"] in TELLS_THE_ADDRESS:
        tried = behind.server.web.database.call("select key from remand.login_attempts where key ~ 'address'")
        assert tried == [("address:127.0.0.2",)]

    # a form of a page
    [secret] = [one.value for one in behind.browser.cookies.jar if "session" in one.name]
    form = {"csrf": csrf_token(secret or ""), "reason": "deploy"}
    led = behind.browser.post(f"{behind.url}/queues/steps/pause", data=form, follow_redirects=True)
    assert "steps is paused" in led.text

    # the API, with a token
    _, token = access.create_token(behind.server.web.engine, "ci", Role.OPERATOR, WHO)
    by = {"Authorization": f"Bearer {token}"}
    with behind.browser.stream("GET", f"{behind.url}/live") as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith("retry:")
        told = behind.program.patch(
            f"{behind.url}/api/v1/queues/steps", headers=by, json={"action": "resume", "reason": "done"}
        )
        assert told.status_code == 200
        # what is told of it comes at once, though the stream goes on
        assert any(line == "event: changed" for line in lines)


def test_the_example_for_traefik_is_as_its_own_documentation_has_it() -> None:
    made = yaml.safe_load(example("traefik.yml"))["http"]

    router = made["routers"]["remand"]
    assert set(router) == {"rule", "entryPoints", "tls", "service"}
    [server] = made["services"][router["service"]]["loadBalancer"]["servers"]
    assert server == {"url": f"http://{UPSTREAM}"}
