"""The API as an application of its own; the server mounts it at /api/v1."""

from __future__ import annotations

from fastapi import FastAPI

from app import __version__
from app.runtime import Runtime
from app.web import errors


def build(runtime: Runtime) -> FastAPI:
    """Return the application; routes find the runtime in `request.app.state.runtime`."""
    app = FastAPI(title="Remand", version=__version__, docs_url=None, redoc_url=None)
    app.state.runtime = runtime
    errors.install(app)

    @app.get("/health/live")
    def live() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "live"}

    return app
