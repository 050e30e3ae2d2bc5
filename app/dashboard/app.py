"""The dashboard as an application of its own; the server mounts it at /."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from app.dashboard.live import Live
from app.dashboard.routes import groups, letters, overview, redrives, site, workflows
from app.runtime import Runtime
from app.web import errors
from app.web.identity import signed_in

_STATIC = Path(__file__).parent / "static"
_NOUNS = (overview, groups, letters, redrives, workflows, site)


def build(runtime: Runtime) -> FastAPI:
    """Return the application; routes find the runtime in `request.app.state.runtime`."""
    app = FastAPI(title="Remand", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.runtime = runtime
    listening = Live(runtime.engine)
    errors.install(app)

    @app.get("/live")
    async def live(request: Request) -> Response:
        """Tell a page that something changed, for as long as it listens."""
        signed_in(request)
        return await listening.serve(request)

    for noun in _NOUNS:
        app.include_router(noun.router)
    app.mount("/static", StaticFiles(directory=_STATIC))
    return app
