"""The server: one application with the API at /api/v1 and the dashboard at /, behind one gate.

`remand serve` runs it; `uvicorn app.server:create --factory` is the same without its checks.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp

from app.api.app import build as build_api
from app.cli.urls import LateBell, with_urls
from app.config import load_settings
from app.dashboard.app import build as build_dashboard
from app.runtime import Runtime
from app.telemetry import configure_logging
from app.web import login
from app.web.boundary import Boundary
from app.web.gate import Gate


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

    app = Starlette(
        routes=[*login.routes(made), Mount("/api/v1", build_api(made)), Mount("/", build_dashboard(made))],
        lifespan=lifespan,
    )
    app.state.runtime = made
    return Boundary(Gate(app, made), is_https=web.is_https)


def _runtime() -> Runtime:
    settings = with_urls(load_settings())
    assert settings.broker_url is not None
    configure_logging(settings.log_level, settings.log_format, redact_keys=settings.redact_keys)
    return Runtime(settings, bell=LateBell(settings.broker_url), pool_size=settings.web.threads)
