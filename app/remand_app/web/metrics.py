"""`/metrics`: the figures of the whole site and the counts of this process, in the format of Prometheus."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from remand_app.domain.access import Permission
from remand_app.engine.last_look import LastLook
from remand_app.engine.site_metrics import KEPT_SECONDS, look
from remand_app.runtime import Runtime
from remand_app.telemetry import metrics_buffer
from remand_app.telemetry.exposition import Exposed, written
from remand_app.telemetry.metrics_buffer import Series
from remand_app.web.identity import require

PATH = "/metrics"
_allowed = require(Permission.METRICS_READ)


def routes(runtime: Runtime) -> list[BaseRoute]:
    """Return the route."""
    last = LastLook[Series](KEPT_SECONDS)

    def text(accept: str) -> tuple[bytes, str]:
        series = last.get(lambda: look(runtime.engine)) | metrics_buffer.counted()
        return written(Exposed(lambda: series, "database", "process"), accept)

    async def metrics(request: Request) -> Response:
        _allowed(request)
        body, content_type = await run_in_threadpool(text, request.headers.get("accept", ""))
        return Response(body, media_type=content_type)

    return [Route(PATH, metrics)]
