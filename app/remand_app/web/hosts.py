"""Which host names a request may be addressed to, and whether the browser says that another site sent it.

A page elsewhere can point its own host name to this machine and then read responses as its own (DNS
rebinding). So a name that is not configured is refused. An IP address is accepted: it cannot be pointed
elsewhere. Behind a trusted proxy the name that arrives is often the one by which the proxy reaches us; the
proxy decides which names it answers to.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from remand_app.config.web import WebSettings
from remand_app.domain.errors import HostRefused, NotAllowed
from remand_app.web.reverse_proxy import asked_for

ANY = "*"
_PORTS = {"http": 80, "https": 443}
_SAME = {"same-origin", "none"}


def check_host(connection: HTTPConnection, web: WebSettings) -> None:
    """Refuse a request to a name that is not ours. Raises HostRefused."""
    if asked_for(connection) is not None:
        return
    host = _name(connection.headers.get("host", ""))
    if ANY in web.allowed_hosts or host in _ours(web) or _is_address(host):
        return
    raise HostRefused(
        f"this server is not called {host[:100]!r}", hint="add the name to the setting web.allowed_hosts"
    )


def check_origin(connection: HTTPConnection, web: WebSettings) -> None:
    """Refuse a change that a browser sends for another site's page. Raises NotAllowed.

    Browsers say where a request comes from; other programs say nothing and carry no cookie.
    """
    site = connection.headers.get("sec-fetch-site")
    origin = connection.headers.get("origin")
    if site is not None and site not in _SAME:
        raise NotAllowed("another site's page sent this request", hint="use the page of this server")
    if origin is None or _is_own(origin, connection, web):
        return
    # No setting says how browsers reach us; the browser, which knows, says that it is our own page.
    if web.dashboard_url is None and site == "same-origin":
        return
    raise NotAllowed(
        f"another site's page sent this request: {origin[:200]}",
        hint="use the page of this server; if it was, set web.dashboard_url to the address people open",
    )


def _is_own(origin: str, connection: HTTPConnection, web: WebSettings) -> bool:
    """Say whether a page of that origin is ours: by the settings, the request, or a trusted proxy."""
    if _place(origin) is None:
        return False
    if web.dashboard_url is not None and _place(origin) == _place(web.dashboard_url):
        return True
    scheme = urlsplit(origin).scheme
    hosts = (connection.headers.get("host", ""), *(asked_for(connection) or ()))
    return any(_place(origin) == _place(f"{scheme}://{host}") for host in hosts)


def _place(url: str) -> tuple[str, str | None, int | None] | None:
    """Return scheme, host and port of an address; None if it is no address."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    return parts.scheme, (parts.hostname or "").rstrip("."), port


def _ours(web: WebSettings) -> set[str]:
    known = {"localhost", web.host.lower(), *(name.lower() for name in web.allowed_hosts)}
    if web.dashboard_url is not None:
        known.add(_name(urlsplit(web.dashboard_url).netloc))
    return known


def _name(netloc: str) -> str:
    """Return a host without its port, IPv6 without its brackets."""
    text = netloc.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].rstrip(".")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
