"""The dashboard as an application of its own; the server mounts it at /."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from remand_app.dashboard import forms
from remand_app.dashboard.live import Live
from remand_app.dashboard.routes import (
    archive,
    audit,
    breakers,
    dead_queues,
    groups,
    letters,
    overview,
    queues,
    redrives,
    staleness,
    sweeps,
    templates,
    workers,
    workflows,
)
from remand_app.dashboard.views import show
from remand_app.runtime import Runtime
from remand_app.web import errors, pages
from remand_app.web.identity import caller_of, signed_in, wants_json
from remand_app.web.reverse_proxy import base_of, within

_STATIC = Path(__file__).parent / "static"
_NOUNS = (
    overview, groups, letters, redrives, workflows, dead_queues, queues, workers, sweeps, archive, staleness,
    breakers, templates, audit,
)  # fmt: skip


def build(runtime: Runtime) -> FastAPI:
    """Return the application; routes find the runtime in `request.app.state.runtime`."""
    app = FastAPI(title="Remand", openapi_url=None, docs_url=None, redoc_url=None)
    app.state.runtime = runtime
    listening = Live(runtime.engine)
    errors.install(app, _refused)

    @app.get("/live")
    async def live(request: Request) -> Response:
        """Tell a page that something changed, for as long as it listens."""
        signed_in(request)
        return await listening.serve(request)

    async def marked(request: Request) -> None:
        """Mark what a page is about to show, before anything of it is read."""
        if request.method == "GET":
            request.state.mark = await listening.mark()

    for noun in _NOUNS:
        app.include_router(noun.router, dependencies=[Depends(forms.check_address), Depends(marked)])
    app.mount("/static", _Files(directory=_STATIC))
    return app


class _Files(StaticFiles):
    """Files that browsers keep, asking each time whether theirs is still the one."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        """Return a file, or that the browser has it."""
        made = super().file_response(*arguments, **options)
        made.headers["Cache-Control"] = "no-cache"
        return made


async def _refused(request: Request, error: Exception) -> Response:
    """Show what was refused, and why, in the frame of the pages; callers not signed in get a plain page."""
    refusal = errors.told_of(request, error)
    if wants_json(request) or caller_of(request) is None or refusal.status >= 500:
        return errors.answer(request, refusal)
    # Of the referring address only the path is used, and never a path that a browser reads as another host.
    back = pages.local(within(base_of(request), urlsplit(request.headers.get("referer", "")).path))
    shown = await run_in_threadpool(
        show,
        request,
        "error.html",
        status=refusal.status,
        live=False,
        error=refusal.error,
        title=refusal.title,
        back=back,
    )
    shown.headers.update(refusal.headers)
    return shown
