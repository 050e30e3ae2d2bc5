"""The API as an application of its own; the server mounts it at /api/v1."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from fastapi.routing import APIRoute

from remand_app import __version__
from remand_app.api import (
    archive,
    audit,
    breakers,
    dead_queues,
    dlq,
    groups,
    health,
    notifications,
    openapi,
    queues,
    redrives,
    staleness,
    statistics,
    steps,
    sweeps,
    templates,
    workflows,
)
from remand_app.api.health import KEPT_SECONDS
from remand_app.engine.last_look import LastLook
from remand_app.runtime import Runtime
from remand_app.web import errors

_GUARDED = (
    workflows,
    steps,
    groups,
    statistics,
    staleness,
    dlq,
    redrives,
    templates,
    queues,
    sweeps,
    archive,
    notifications,
    dead_queues,
    breakers,
    audit,
)


def _operation(route: APIRoute) -> str:
    """Return the id of an operation: what its function is called, a verb and what it is done to."""
    return route.name


def build(runtime: Runtime) -> FastAPI:
    """Return the application; routes find the runtime in `request.app.state.runtime`."""
    app = FastAPI(
        title="Remand",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        root_path_in_servers=False,
        generate_unique_id_function=_operation,
    )
    app.state.runtime = runtime
    app.state.last_checks = LastLook(KEPT_SECONDS)
    errors.install(app)
    for noun in _GUARDED:
        app.include_router(noun.router, responses=openapi.EVERYWHERE)
    app.include_router(health.router)
    app.openapi = partial(openapi.document, app)  # type: ignore[method-assign]
    return app
