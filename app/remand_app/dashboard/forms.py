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

from remand_app.dashboard.masked_edits import restored
from remand_app.domain import filters
from remand_app.domain.errors import InputInvalid
from remand_app.domain.instants import read_instant
from remand_app.domain.text import check_arguments
from remand_app.engine.engine import Engine
from remand_app.engine.operate import KEEP
from remand_app.resources.letters import get_dead_letter
from remand_app.resources.steps import stored_step
from remand_app.resources.workflows import get_workflow

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
