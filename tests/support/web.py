"""The whole server in one process: an ASGI application on a test database, and clients that talk to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, Mount

from remand_app.config import Settings
from remand_app.domain.access import Permission, Role, csrf_token
from remand_app.engine import access
from remand_app.engine.operate import Who
from remand_app.runtime import Runtime
from remand_app.server import create, routes
from remand_app.store.database import Database
from tests.support.bell import RecordingBell
from tests.support.clock import FakeClock
from tests.support.engine import settings_for

ADDRESS = "http://127.0.0.1:8484"
PASSWORD = "seven wet otters"
WHO = Who("test")


class InProcess(httpx.BaseTransport):
    """Hands requests to an application, each in a loop of its own; of an endless answer only its head."""

    def __init__(self, app: Any, address: str) -> None:
        self._app, self._address = app, address

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return asyncio.run(self._handle(request))

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        told: asyncio.Queue[Any] = asyncio.Queue()
        serving = asyncio.create_task(self._serve(request, told))
        status, headers, body = 500, [], b""
        while (message := await told.get()) is not None:
            if message["type"] == "http.response.start":
                status, headers = message["status"], message["headers"]
                if any(b"event-stream" in value for _, value in headers):
                    break
            body += message.get("body", b"")
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        return httpx.Response(status, headers=headers, content=body)

    async def _serve(self, request: httpx.Request, told: asyncio.Queue[Any]) -> None:
        given = [{"type": "http.request", "body": request.content, "more_body": False}]

        async def receive() -> Any:
            return given.pop() if given else await asyncio.Event().wait()

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": request.method,
            "scheme": request.url.scheme, "path": request.url.path, "root_path": "",
            "raw_path": request.url.raw_path.partition(b"?")[0], "query_string": request.url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": (self._address, 50_000), "server": (request.url.host, request.url.port or 80),
        }  # fmt: skip
        try:
            await self._app(scope, receive, told.put)
        finally:
            await told.put(None)


class Web:
    """One server and those who may use it."""

    def __init__(
        self, database: Database, clock: FakeClock, notify: dict[str, Any] | None = None, **web: Any
    ) -> None:
        self.database, self.clock, self.bell = database, clock, RecordingBell()
        url = database.url
        told = {"notify": notify or {}, "web": web}
        settings = settings_for(database_url=url, broker_url="redis://:hush@127.0.0.1:1/0", **told)
        self.runtime = Runtime(settings, bell=self.bell, clock=clock)
        self.engine = self.runtime.engine
        self.app = create(self.runtime)

    def close(self) -> None:
        self.runtime.database.dispose()

    def nobody(self, *, address: str = "127.0.0.1", **options: Any) -> httpx.Client:
        """Return a client that is not signed in; it follows no redirect."""
        given = {"base_url": ADDRESS, "transport": InProcess(self.app, address), **options}
        return httpx.Client(**given)

    def program(
        self, role: Role | str, name: str | None = None, scopes: list[Permission] | None = None
    ) -> httpx.Client:
        """Return a client with a token of its own."""
        wanted = name or f"{role}-{self._count('api_tokens')}"
        _, secret = access.create_token(self.engine, wanted, Role(role), WHO, scopes=scopes)
        return self.nobody(headers={"Authorization": f"Bearer {secret}"})

    def browser(self, role: Role | str, name: str | None = None) -> httpx.Client:
        """Return a client signed in by password, whose changes carry its CSRF token."""
        wanted = name or f"{role}-{self._count('users')}"
        access.add_user(self.engine, wanted, Role(role), PASSWORD, WHO)
        client = self.nobody()
        signed = sign_in(client, wanted)
        assert signed.status_code == 303, signed.text
        client.headers["X-CSRF-Token"] = csrf_of(client)
        return client

    def _count(self, table: str) -> int:
        return int(self.database.call(f"select count(*) from remand.{table}")[0][0])


def sign_in(client: httpx.Client, name: str, password: str = PASSWORD, **more: Any) -> Any:
    return client.post("/login", data={"name": name, "password": password, **more})


def csrf_of(client: httpx.Client) -> str:
    return csrf_token(client.cookies["remand_session"])


def every_route(found: Sequence[BaseRoute], prefix: str = "") -> Iterator[str]:
    for context in iter_route_contexts(found):
        inner = context.original_route
        if isinstance(inner, Mount):
            if inner.path.startswith("/static") or inner.name == "static":
                yield f"GET {prefix}{inner.path}/{{path}}"
            else:
                yield from every_route(getattr(inner.app, "routes", []), prefix + inner.path)
            continue
        for method in sorted((context.methods or set()) - {"HEAD"}):
            yield f"{method} {prefix}{context.path}"


NOWHERE = Settings(database_url="postgresql://nobody@127.0.0.1:1/x", broker_url="redis://127.0.0.1:1/0")
ROUTES = sorted(set(every_route(routes(Runtime(NOWHERE)))))
