"""Where the server stands as browsers see it: behind which proxies, and under which path.

The rest of the application is written as if clients reached it directly, at `/`. This module puts in place
what a trusted proxy says of a request, and removes the path of `web.dashboard_url`, whether or not a proxy
removed it before. It adds the path again to redirects and, by `rooted`, to the addresses in a page.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from remand_app.config.web import WebSettings

_BASE, _ASKED_FOR = "remand_base", "remand_asked_for"
_LEADS: Final = re.compile(
    r'(\s(?:href|src|action|hx-get|hx-post|data-live|data-redrive|data-note|data-page-[a-z]+)="'
    r'|\scontent="0;url=)(?=/(?!/))'
)
"""Addresses in our pages; plain text cannot match, because its quotes are escaped."""


class Place:
    """Wrap an application."""

    def __init__(self, app: ASGIApp, web: WebSettings) -> None:
        self._app = app
        self._base = web.path
        self._proxies = [ipaddress.ip_network(network, strict=False) for network in web.trusted_proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other kinds of connection pass through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        inner = {**scope, "state": {**scope.get("state", {}), _BASE: self._base}}
        headers = Headers(scope=scope)
        if self._is_proxy((scope.get("client") or ("",))[0]):
            self._believe(inner, headers)
        inner["path"] = self.stripped(inner["path"])
        inner["raw_path"] = self.stripped(inner.get("raw_path", b"").decode("latin-1")).encode("latin-1")
        own = headers.get("host", "")

        async def lead(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._lead(MutableHeaders(scope=message), own)
            await send(message)

        await self._app(inner, receive, lead)

    def stripped(self, path: str) -> str:
        """Return a path without the base path."""
        return within(self._base, path)

    def _is_proxy(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)

    def _believe(self, scope: Scope, headers: Headers) -> None:
        scope["state"][_ASKED_FOR] = tuple(_listed(headers, "x-forwarded-host"))
        passed = [_without_port(address) for address in _listed(headers, "x-forwarded-for")]
        if passed:
            # Each proxy appends the address it saw. All before the last one that is no proxy may be forged.
            real = next((address for address in reversed(passed) if not self._is_proxy(address)), passed[0])
            scope["client"] = (real, 0)
        scheme = next(iter(_listed(headers, "x-forwarded-proto")), "").lower()
        if scheme in {"http", "https"}:
            scope["scheme"] = scheme

    def _lead(self, headers: MutableHeaders, own: str) -> None:
        to = headers.get("location")
        if to is None:
            return
        parts = urlsplit(to)
        # The framework names the host that arrived, which behind a proxy need not be one that people reach.
        if parts.netloc and parts.netloc == own:
            to = parts._replace(scheme="", netloc="").geturl()
        if to.startswith("/") and not to.startswith("//"):
            headers["location"] = self._base + to


def base_of(connection: HTTPConnection) -> str:
    """Return the base path, "" for none."""
    return str(connection.scope.get("state", {}).get(_BASE, ""))


def asked_for(connection: HTTPConnection) -> tuple[str, ...] | None:
    """Return the hosts that a trusted proxy says were asked for, maybe none; None: no trusted proxy."""
    hosts: tuple[str, ...] | None = connection.scope.get("state", {}).get(_ASKED_FOR)
    return hosts


def within(base: str, path: str) -> str:
    """Return a path without the base path, if it begins with the base path."""
    if base and (path == base or path.startswith(f"{base}/")):
        return path[len(base) :] or "/"
    return path


def rooted(page: str, base: str) -> str:
    """Return a page with a path put before its addresses."""
    return _LEADS.sub(rf"\g<1>{base}", page) if base else page


def _listed(headers: Headers, name: str) -> Sequence[str]:
    listed = ",".join(headers.getlist(name))
    return [item for part in listed.split(",") if (item := part.strip())]


def _without_port(address: str) -> str:
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address
