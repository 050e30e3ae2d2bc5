"""Carry out or preview what a form asks for. The table of verbs says which verb it is and what it takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from remand.errors import RemandError
from remand_app.dashboard import forms
from remand_app.dashboard.views import done, engine_of, show
from remand_app.domain.errors import InputInvalid
from remand_app.engine import operate
from remand_app.engine.engine import Engine
from remand_app.resources.verbs import Argument, Noun, Verb, verbs_of
from remand_app.web.identity import Caller, allow, signed_in

Key = tuple[Any, ...]


async def change(
    request: Request,
    noun: Noun,
    name: str,
    key: Key | str,
    back: str,
    *,
    only: Collection[str] = (),
    needs: Collection[str] = (),
) -> Response:
    """Carry out a verb with the arguments of a form; the page it goes back to says what was done.

    `key`: what the verb is done to; text: the field of the form that names it. `only`: the verbs that the
    page offers; empty: all of the noun. `needs`: fields without which nothing would be done.

    Raises:
        NotAllowed: the caller may not do that.
        InputInvalid: a field is empty that is needed.
        RemandError: as the verb itself.
    """
    verb, caller = _allowed(request, noun, name)
    if only and verb.name not in only:
        raise HTTPException(404)
    form = await forms.read(request)
    for field in needs:
        if not form.get(field):
            raise InputInvalid(f"{field} is empty", hint="choose one")
    thing = (form.get(key, ""),) if isinstance(key, str) else key
    value = await run_in_threadpool(_act, engine_of(request), verb, thing, form, caller)
    return done(request, back, verb.told(thing, value))


async def preview(
    request: Request, noun: Noun, name: str, key: Key, workflow: Callable[[], UUID]
) -> Response:
    """Show what a verb would do to a workflow, which is asked for once the caller may.

    Raises:
        NotAllowed: the caller may not do that.
    """
    verb, caller = _allowed(request, noun, name)
    if not verb.previews:
        raise HTTPException(404)
    form = await forms.read(request)
    workflow_id = await run_in_threadpool(workflow)
    return await run_in_threadpool(
        _preview, request, workflow_id, lambda tried: _act(tried, verb, key, form, caller)
    )


def _allowed(request: Request, noun: Noun, name: str) -> tuple[Verb, Caller]:
    caller = signed_in(request)
    verbs = {verb.name: verb for verb in verbs_of(noun, "dashboard")}
    verb = verbs.get(name.replace("-", "_"))
    # A caller who may change nothing here does not learn what exists.
    allow(caller, (verb or next(verbs_of(noun))).permission)
    if verb is None:
        raise HTTPException(404)
    return verb, caller


def _act(engine: Engine, verb: Verb, key: Key, form: Mapping[str, str], caller: Caller) -> object:
    arguments = {
        argument.name: _value(engine, verb.noun, argument, key, form)
        for argument in verb.arguments
        if argument.name in form or argument.required
    }
    return verb.act(engine, key, caller.who(form.get("reason")), arguments)


def _value(engine: Engine, noun: Noun, argument: Argument, key: Key, form: Mapping[str, str]) -> Any:
    text = form.get(argument.name, "")
    match argument.kind:
        case "flag":
            return True
        case "texts":
            return text.split()
        case "json" if argument.name == "input":
            return forms.edited_input(engine, *forms.step_of(engine, noun, key), form)
        case "json" | "object":
            return forms.parsed(text or "null", argument.name)
        case "priority":
            number = forms.number(text, f"the {argument.name}")
            return None if number is None else int(number)
        case "count":
            return forms.whole(text)
        case "duration":
            return forms.number(text, f"the {argument.name}")
        case "instant":
            return forms.instant(text) if text else None
        case _:
            return text


def _preview(request: Request, workflow_id: UUID, verb: Callable[[Engine], object]) -> Response:
    try:
        shown = operate.preview(engine_of(request), workflow_id, verb)
    except RemandError as error:
        return show(request, "preview.html", live=False, shown=None, error=error)
    return show(request, "preview.html", live=False, shown=shown, error=None)
