"""What the work runs on: queues, workers, breakers, templates; and the audit log."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from app.dashboard import forms
from app.dashboard.drawing import graph
from app.dashboard.views import done, engine_of, show
from app.domain.access import Permission
from app.domain.staleness import Health
from app.engine import operate
from app.resources import archive, breakers, queues, staleness, templates, workers
from app.resources.audit import Filter
from app.resources.audit import list_page as audited
from app.resources.sweeps import sweeps
from app.web.identity import require

router = APIRouter()
_MOVES = 10
_RUNS = 50
_STOPPED = 20
_SHOWN = 200


@router.get("/queues")
def queues_page(request: Request) -> Response:
    """Show every queue: what is in it, for how long, who takes from it."""
    require(Permission.QUEUES_READ)(request)
    return show(request, "queues.html", queues=queues.queues(engine_of(request)))


@router.post("/queues/{queue}/{verb}")
async def change_queue(request: Request, queue: str, verb: str) -> Response:
    """Pause or resume a queue."""
    caller = require(Permission.QUEUES_WRITE)(request)
    given = await forms.read(request)
    if verb not in {"pause", "resume"}:
        raise HTTPException(404)
    who = caller.who(given.get("reason"))
    await run_in_threadpool(queues.set_paused, engine_of(request), queue, who, paused=verb == "pause")
    how = "is paused: what runs ends, nothing more starts" if verb == "pause" else "goes on"
    return done(request, "/queues", f"{queue} {how}.")


@router.get("/workers")
def workers_page(request: Request) -> Response:
    """Show the workers that live, and those that stopped lately."""
    require(Permission.QUEUES_READ)(request)
    engine = engine_of(request)
    rows = workers.workers(engine, ended=True)
    with engine.database.begin() as connection:
        now = engine.now(connection)
    alive = [one for one in rows if one.stopped_at is None]
    stopped = [one for one in rows if one.stopped_at is not None]
    stopped.sort(key=lambda one: one.stopped_at or one.started_at, reverse=True)
    return show(
        request,
        "workers.html",
        alive=alive,
        stopped=stopped[:_STOPPED],
        silent_seconds=workers.silent_seconds(engine),
        now=now,
    )


@router.get("/sweeps")
def sweeps_page(request: Request) -> Response:
    """Show what runs by itself: when each sweep last went well, and why not since."""
    require(Permission.QUEUES_READ)(request)
    return show(request, "sweeps.html", sweeps=sweeps(engine_of(request)))


@router.get("/archive")
def archive_page(request: Request) -> Response:
    """Show what the archive holds, and what was moved last."""
    require(Permission.QUEUES_READ)(request)
    return show(request, "archive.html", archive=archive.status(engine_of(request).database, _RUNS))


@router.get("/staleness")
def staleness_page(request: Request) -> Response:
    """Show which workflows show no sign of life, and which soon will be stale."""
    require(Permission.WORKFLOWS_READ)(request)
    engine = engine_of(request)
    found = staleness.shown(engine, tuple(Health), limit=_SHOWN).items
    return show(request, "staleness.html", standings=found, now=engine.instant())


@router.get("/breakers")
def breakers_page(request: Request) -> Response:
    """Show the breakers: which dependencies are down, what they hold."""
    require(Permission.BREAKERS_READ)(request)
    every = "all" in request.query_params
    return show(
        request, "breakers.html", breakers=breakers.breakers(engine_of(request), unmoved=every), every=every
    )


@router.post("/breakers/{verb}")
async def change_breaker(request: Request, verb: str) -> Response:
    """Open, close or reset a breaker; its name is in the form, for it may hold slashes."""
    caller = require(Permission.BREAKERS_WRITE)(request)
    given = await forms.read(request)
    act = breakers.VERBS.get(verb)
    if act is None:
        raise HTTPException(404)
    name, who = given.get("name", ""), caller.who(given.get("reason"))
    await run_in_threadpool(act, engine_of(request), name, who)
    return done(request, "/breakers", f"The breaker of {name}: {verb}.")


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
    caller = require(Permission.TEMPLATES_WRITE)(request)
    given = await forms.read(request)
    act = {"pause": operate.pause_template, "resume": operate.resume_template}.get(verb)
    if act is None:
        raise HTTPException(404)
    ref = f"{namespace}/{name}"
    told = await run_in_threadpool(act, engine_of(request), ref, caller.who(given.get("reason")))
    how = "is paused: what runs ends, nothing more starts" if verb == "pause" else "goes on"
    return done(request, "/templates", f"{ref} {how}; {told.workflows} workflows.")


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
        drawing=graph.lay_out({one.name: one.depends_on for one in template.steps}),
    )


@router.get("/audit")
def audit_page(request: Request) -> Response:
    """Show who decided what, the newest first."""
    require(Permission.ADMIN_READ)(request)
    given = request.query_params
    wanted = Filter(
        by=given.get("by") or None, verb=given.get("verb") or None, subject=given.get("subject") or None
    )
    page = audited(engine_of(request).database, wanted, after=given.get("cursor") or None, limit=50)
    return show(request, "audit.html", page=page, given=given)
