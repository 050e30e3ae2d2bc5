"""`/templates`: what workflows are made from; check a definition, pause and resume."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from remand_app.api.dependencies import After, Body, EngineOf, Limit, Line, TemplateReader, TemplateWriter
from remand_app.api.openapi import CHANGES, Page, errors
from remand_app.api.responses import answer, page, whole
from remand_app.api.verbs import Action, carry_out, one_body
from remand_app.domain import page as paging
from remand_app.domain.errors import Busy, InputInvalid
from remand_app.domain.template import load_text
from remand_app.engine.operate import Paused
from remand_app.resources import templates
from remand_app.resources.templates import TemplateLine, TemplateShown
from remand_app.web.attended import attended

router = APIRouter(tags=["templates"])
Namespace = Annotated[Line, Path(description="Namespace of the template.")]
Name = Annotated[Line, Path(description="Its name.")]
Version = Annotated[Line, Path(description="Its version.")]
_checking = threading.Lock()
_WAIT_SECONDS = 2.0
_ONE = "/templates/{namespace}/{name}"


if TYPE_CHECKING:
    TemplateAction = Action
else:
    TemplateAction = one_body(
        "TemplateAction",
        "template",
        "`pause` it: its workflows are held, submits are accepted and wait; or `resume` it.",
    )


class Source(Body):
    """A template file."""

    text: str = Field(
        max_length=200_000,
        description="The file as it is, YAML or JSON, with one template. The command line takes larger ones.",
        examples=[
            "namespace: shop\nname: quote\nversion: '1'\nsteps:\n  - {name: prices, handler: shop.prices}\n"
        ],
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """A good template."""

    templates: list[str]


@router.get("/templates", response_model=Page[TemplateLine], summary="List the published templates")
def list_templates(
    engine: EngineOf, caller: TemplateReader, cursor: After = None, limit: Limit = 50
) -> Response:
    """List the published templates by name, newest version of each first."""
    return _page(templates.lines(engine), cursor, limit)


def _page(lines: list[TemplateLine], cursor: str | None, limit: int) -> Response:
    start = 0
    if cursor is not None:
        places = [number for number, line in enumerate(lines, 1) if line.template == cursor]
        if not places:
            raise InputInvalid("this is no cursor of this list", hint="begin without one")
        start = places[0]
    shown = lines[start : start + limit + 1]
    listed = paging.Page.of(
        shown, limit, after=cursor, cursor=lambda line: line.template, count=lambda: len(lines)
    )
    return page(listed)


@router.get(
    _ONE, response_model=TemplateShown, summary="Show the newest version of a template", responses=errors(404)
)
def show_template(engine: EngineOf, caller: TemplateReader, namespace: Namespace, name: Name) -> Response:
    """Show the newest version with its definition."""
    return answer(templates.show(engine, engine.templates.find(f"{namespace}/{name}")))


@router.get(
    _ONE + "/versions",
    response_model=Page[TemplateLine],
    summary="List the versions of a template",
    responses=errors(404),
)
def list_template_versions(
    engine: EngineOf, caller: TemplateReader, namespace: Namespace, name: Name
) -> Response:
    """List the versions of a template, newest first."""
    engine.templates.find(f"{namespace}/{name}")
    wanted = (namespace, name)
    versions = [
        version
        for version in engine.templates.listed()
        if (version.template.namespace, version.template.name) == wanted
    ]
    return whole(templates.lines(engine, versions))


@router.get(
    _ONE + "/versions/{version}",
    response_model=TemplateShown,
    summary="Show a version of a template",
    responses=errors(404),
)
def show_template_version(
    engine: EngineOf, caller: TemplateReader, namespace: Namespace, name: Name, version: Version
) -> Response:
    """Show a version with its definition; a published version never changes."""
    return answer(templates.show(engine, engine.templates.find(f"{namespace}/{name}:{version}")))


@router.post(
    "/templates/validate", response_model=Checked, summary="Check a template file", responses=CHANGES
)
async def validate_template(request: Request, caller: TemplateReader, body: Source) -> Response:
    """Say the problems of a template file at once, 100 at most, in `details.problems`; nothing is stored."""
    return answer(Checked([await attended(request, lambda has_gone: _check(body.text, has_gone))]))


def _check(text: str, has_gone: Callable[[], bool]) -> str:
    # One at a time: it is CPU-bound, and other requests need the processor too.
    if not _checking.acquire(timeout=_WAIT_SECONDS):
        raise Busy("other templates are being checked just now", hint="try again in a moment")
    try:
        return load_text(text, "text", has_gone=has_gone).ref
    finally:
        _checking.release()


@router.patch(
    _ONE,
    response_model=Paused,
    summary="Pause or resume a template",
    responses={**CHANGES, **errors(404)},
)
def change_template(
    engine: EngineOf, caller: TemplateWriter, namespace: Namespace, name: Name, body: TemplateAction
) -> Response:
    """Hold the workflows of every version of a template, or let them go on; what runs ends and counts."""
    return answer(carry_out(engine, "template", (f"{namespace}/{name}",), body, caller))
