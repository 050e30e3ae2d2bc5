"""The pages of templates: what is published, and pausing it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from remand_app.dashboard import verbs
from remand_app.dashboard.drawing import graph
from remand_app.dashboard.views import engine_of, show
from remand_app.domain.access import Permission
from remand_app.resources import templates
from remand_app.web.identity import require

router = APIRouter()


@router.get("/templates")
def templates_page(request: Request) -> Response:
    """Show the published templates, the newest version of each first."""
    require(Permission.TEMPLATES_READ)(request)
    engine = engine_of(request)
    return show(
        request, "templates.html", templates=engine.templates.listed(), pauses=templates.pauses(engine)
    )


@router.post("/templates/{namespace}/{name}/{verb}")
async def change_template(request: Request, namespace: str, name: str, verb: str) -> Response:
    """Pause or resume a template: all its versions."""
    return await verbs.change(request, "template", verb, (f"{namespace}/{name}",), "/templates")


@router.get("/templates/{namespace}/{name}/{version}")
def template_page(request: Request, namespace: str, name: str, version: str) -> Response:
    """Show a template: its graph, its steps, its definition."""
    require(Permission.TEMPLATES_READ)(request)
    engine = engine_of(request)
    published = engine.templates.find(f"{namespace}/{name}:{version}")
    template = published.template
    return show(
        request,
        "template.html",
        live=False,
        shown=template,
        pause=templates.pauses(engine).get((namespace, name)),
        drawing=graph.lay_out({step.name: step.depends_on for step in template.steps}),
    )
