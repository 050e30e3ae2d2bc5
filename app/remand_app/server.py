"""The server: one application with the API at /api/v1 and the dashboard at /, behind one authentication gate.

`remand serve` runs it; `uvicorn remand_app.server:create --factory` is the same without the checks of `remand
serve`.
"""

from __future__ import annotations

import resource
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp
from uvicorn import Config, Server

from remand.errors import RemandError
from remand_app.api.app import build as build_api
from remand_app.config import load_settings
from remand_app.config.web import WebSettings
from remand_app.connections import LateBell, with_urls
from remand_app.dashboard.app import build as build_dashboard
from remand_app.domain.errors import AddressTaken
from remand_app.engine.startup import await_database, patiently
from remand_app.runtime import Runtime
from remand_app.stderr import complain_of
from remand_app.telemetry import configure_logging, log, metrics_buffer
from remand_app.web import errors, login, metrics
from remand_app.web.auth_middleware import Gate
from remand_app.web.connection_limits import protocol
from remand_app.web.response_middleware import Boundary
from remand_app.web.reverse_proxy import Place

_BACKLOG = 256
_MOST_CONNECTIONS = 1000
_FILES = 4 * _MOST_CONNECTIONS


def create(runtime: Runtime | None = None) -> ASGIApp:
    """Return the application; without a runtime it makes one of this process's settings.

    Raises:
        ConfigInvalid: the settings are wrong, or name no servers.
    """
    made = runtime if runtime is not None else _runtime()
    web = made.settings.web

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = web.threads
        await anyio.to_thread.run_sync(made.check_schema)
        yield
        made.database.dispose()

    app = Starlette(routes=routes(made), lifespan=lifespan)
    app.state.runtime = made
    # Bells that the server rings are counted here; its other figures come from the database.
    metrics_buffer.start()
    errors.install(app)
    return Place(Boundary(Gate(app, made), is_https=web.is_https), web)


def _runtime() -> Runtime:
    settings = with_urls(load_settings())
    configure_logging(settings.log_level, settings.log_format, redact_keys=settings.redact_keys)
    return Runtime(settings, bell=LateBell(settings), pool_size=settings.web.threads)


def routes(runtime: Runtime) -> list[BaseRoute]:
    """Return every route of the server; the first that fits is taken."""
    return [
        *login.routes(runtime),
        *metrics.routes(runtime),
        Mount("/api/v1", build_api(runtime)),
        Mount("/", build_dashboard(runtime)),
    ]


def main() -> None:
    """Serve until asked to stop, on the address of the settings. Exits as the command line does."""
    try:
        runtime = _runtime()
        # The dashboard can show data even when nothing can be changed, so a standby will do.
        await_database(runtime.database, runtime.settings, writes=False)
        patiently(runtime.check_schema, runtime.settings)
        web = runtime.settings.web
        _allow_files()
        door = _listen(web.host, web.port)
        port = door.getsockname()[1]
        log("server.started", host=web.host, port=port)
        Server(_uvicorn(create(runtime), web)).run(sockets=[door])
        log("server.stopped", host=web.host, port=port)
    except RemandError as error:
        complain_of(error)
        sys.exit(error.exit_code)


def _allow_files() -> None:
    """Raise the limit of open files, as each connection takes one; many systems begin with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises AddressTaken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's delay off only where the protocol is named; with it each answer takes 40 ms.
    door = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((host.strip("[]"), port))
        door.listen(_BACKLOG)
    except OSError as error:
        door.close()
        raise AddressTaken(
            f"cannot listen on {host}, port {port}: {error.strerror or error}",
            hint="another port: --port, or REMAND_WEB__PORT",
        ) from error
    return door


def _uvicorn(app: ASGIApp, web: WebSettings) -> Config:
    return Config(
        app,
        # Every request has one line of ours; uvicorn's own lines go where ours go.
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        # `Place` handles the proxies that the settings trust.
        proxy_headers=False,
        http=protocol(web),
        # This many connections are accepted before the first one is handled.
        backlog=_BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        limit_concurrency=_MOST_CONNECTIONS,
        ws="none",
    )


if __name__ == "__main__":
    main()
