"""The dashboard as an application of its own; the server mounts it at /."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, FastAPI
from starlette.responses import HTMLResponse

from app.runtime import Runtime
from app.web import errors
from app.web.identity import Caller, signed_in


def build(runtime: Runtime) -> FastAPI:
    """Return the application; routes find the runtime in `request.app.state.runtime`."""
    app = FastAPI(title="Remand", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.runtime = runtime
    errors.install(app)

    @app.get("/")
    def overview(caller: Annotated[Caller, Depends(signed_in)]) -> HTMLResponse:
        """Greet."""
        return HTMLResponse(f"<!doctype html><title>Remand</title><p>{caller.role}</p>")

    return app
