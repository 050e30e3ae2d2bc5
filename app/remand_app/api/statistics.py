"""`/dlq/stats`: how many dead letters there are, of which kinds, how old, and how fast they are settled."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from remand_app.api.dependencies import EngineOf, LetterReader, Line
from remand_app.api.responses import answer
from remand_app.resources.overview import Statistics, statistics

router = APIRouter(tags=["dead letters"])


@router.get("/dlq/stats", response_model=Statistics, summary="Tell the figures of the dead letter queue")
def show_statistics(
    engine: EngineOf,
    caller: LetterReader,
    namespace: Annotated[Line | None, Query(description="Only of templates of this namespace.")] = None,
) -> Response:
    """Tell how many letters there are, by reason, category, policy, status, template; how full queues are."""
    return answer(statistics(engine, namespace=namespace))
