"""Which names a request may be addressed to, and whether a browser says that another site sent it.

A page elsewhere can let its own name point to this machine and then read answers as its own (DNS rebinding):
so a name nobody configured is refused. An address is no name: it cannot be made to point elsewhere.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from app.config.web import WebSettings
from app.domain.errors import HostRefused, NotAllowed

ANY = "*"
_SAME = {"same-origin", "none"}


def check_host(connection: HTTPConnection, web: WebSettings) -> None:
    """Refuse a request to a name that is not ours. Raises HostRefused."""
    host = _name(connection.headers.get("host", ""))
    if ANY in web.allowed_hosts or host in _ours(web) or _is_address(host):
        return
    raise HostRefused(
        f"this server is not called {host[:100]!r}", hint="add the name to the setting web.allowed_hosts"
    )


def check_origin(connection: HTTPConnection) -> None:
    """Refuse a change that another site's page sends by a browser. Raises NotAllowed.

    Browsers say where a request comes from; programs say nothing and carry no cookie.
    """
    site = connection.headers.get("sec-fetch-site")
    origin = connection.headers.get("origin")
    elsewhere = (
        origin is not None and urlsplit(origin).netloc.lower() != connection.headers.get("host", "").lower()
    )
    if elsewhere or (site is not None and site not in _SAME):
        raise NotAllowed("another site's page sent this request", hint="use the page of this server")


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
