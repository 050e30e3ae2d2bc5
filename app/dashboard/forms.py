"""What forms and addresses send: read once, checked, and turned into the engine's own values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request

from app.domain import filters
from app.domain.errors import InputInvalid
from app.domain.instants import read_instant
from app.domain.text import check_arguments
from app.engine.context import Engine
from app.engine.operate import KEEP
from app.resources.letters import get_dead_letter
from app.resources.steps import stored_step
from app.resources.workflows import get_workflow
from remand.redact import MASK, redact_json

F = TypeVar("F")
Fields = ImmutableMultiDict[str, str]
"""What an address or a form gives: texts by name, several of some."""
_DOCUMENTS = ("input", "result", "values")


async def read(request: Request) -> Fields:
    """Return the fields of a form, trimmed; those left empty are not there."""
    form = await request.form()
    check_arguments(form, documents=_DOCUMENTS)
    texts = [(name, value.strip()) for name, value in form.multi_items() if isinstance(value, str)]
    return Fields([(name, text) for name, text in texts if text])


async def check_address(request: Request) -> None:
    """Refuse an address that no search could take. Raises TextInvalid."""
    check_arguments(request.query_params)
    check_arguments({name: str(value) for name, value in request.path_params.items()})


def filter_of(of: type[F], fields: Fields, *, but: Sequence[str] = ()) -> F:
    """Return the filter that an address, or a form that carries one, asks for; `but`: what it may not say.

    Raises:
        InputInvalid: a value is none of those known.
    """
    texts: dict[str, list[str]] = {}
    for name, value in fields.multi_items():
        if name not in but:
            texts.setdefault(name, []).append(value)
    return filters.read(of, texts)


def fields_of(wanted: Any) -> list[tuple[filters.Question, list[str]]]:
    """Return what a filter can be asked for, each with what stands in its field."""
    written = filters.written(wanted)
    return [(question, written.get(question.name, [])) for question in filters.questions(type(wanted))]


def step_of(engine: Engine, noun: str, key: tuple[Any, ...]) -> tuple[UUID, str]:
    """Return the workflow and the step that a letter was opened for, or that are named."""
    if noun != "letter":
        return key[0], key[1]
    letter = get_dead_letter(engine.database, key[0])
    return letter.workflow_id, letter.step


def parsed(text: str, what: str) -> Any:
    """Return the JSON that somebody typed.

    Raises:
        InputInvalid: it is none; the message says where.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputInvalid(
            f"the {what} is not JSON: {error}", hint='text needs quotes: "like this"'
        ) from None
    except RecursionError:
        raise InputInvalid(f"the {what} is nested too deeply") from None


def edited_input(engine: Engine, workflow_id: UUID, step: str, form: Mapping[str, str]) -> Any:
    """Return the input that a form gives a step, with its secrets; KEEP: the form leaves it as it is.

    Raises:
        InputInvalid: it is no JSON, or a mask in it stands for nothing.
    """
    if "input" not in form:
        return KEEP
    step_as_it_is = stored_step(engine.database, workflow_id, step)
    original = (
        step_as_it_is.input
        if step_as_it_is.has_own_input
        else get_workflow(engine.database, workflow_id).input
    )
    return restored(parsed(form["input"], "input"), original, engine.settings.redact_keys)


def restored(edited: Any, original: Any, secret: Sequence[str]) -> Any:
    """Return what somebody edited, with the values back that were masked where they stand as they were shown.

    A page never shows a secret; who edits what is around one must not overwrite it with its mask.

    Raises:
        InputInvalid: a mask stands where nothing was masked: it would be taken for the value.
    """
    made = _restored(edited, original, secret)
    if _masks(made) - _masks(original):
        raise InputInvalid(
            "a masked value stands where it was not shown, and nobody can tell which secret it means",
            hint=f"leave each {MASK} where it is, or type the value itself",
        )
    return made


def _restored(edited: Any, original: Any, secret: Sequence[str]) -> Any:
    if edited == redact_json(original, secret):
        return original
    match edited, original:
        case dict(), dict():
            return {
                name: _restored_at(name, value, original, secret) if name in original else value
                for name, value in edited.items()
            }
        case list(), list():
            return _restored_items(edited, original, secret)
        case _:
            return edited


def _restored_at(name: str, value: Any, original: Mapping[str, Any], secret: Sequence[str]) -> Any:
    """Return a field of an object as `restored` does: whether it is a secret depends on its name."""
    shown = redact_json({name: original[name]}, secret)[name]
    return original[name] if value == shown else _restored(value, original[name], secret)


def _restored_items(edited: list[Any], original: list[Any], secret: Sequence[str]) -> list[Any]:
    """Return the items of a list, which may have moved: each with the secrets of the one it looks like."""
    shown = redact_json(original, secret)
    alike = len(edited) == len(original)

    def item(place: int, value: Any) -> Any:
        if alike and value == shown[place]:
            return original[place]
        originals = [was for was, seen in zip(original, shown, strict=True) if seen == value]
        if originals and all(was == originals[0] for was in originals):
            return originals[0]
        return _restored(value, original[place], secret) if alike and not originals else value

    return [item(place, value) for place, value in enumerate(edited)]


def _masks(value: Any) -> set[str]:
    """Return the texts in a value that hold a mask."""
    texts: set[str] = set()
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending.extend(part.values())
            pending.extend(part)
        elif isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, str) and MASK in part:
            texts.add(part)
    return texts


def instant(text: str) -> datetime:
    """Return an instant of a `datetime-local` field, which is UTC.

    Raises:
        InstantInvalid: it is none.
    """
    return read_instant(text, naive_is_utc=True)


def whole(text: str) -> int:
    """Return a number of letters.

    Raises:
        InputInvalid: it is no whole number.
    """
    if not re.fullmatch(r"\d{1,9}", text):
        raise InputInvalid(f"a limit is a whole number of letters, not {text!r}")
    return int(text)


def number(text: str | None, what: str) -> float | None:
    """Return a number, None for nothing.

    Raises:
        InputInvalid: it is none.
    """
    if not text:
        return None
    try:
        read = float(text)
    except ValueError:
        read = math.nan
    if not math.isfinite(read):
        raise InputInvalid(f"{what} is not a number: {text!r}")
    return read
