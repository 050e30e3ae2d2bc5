"""Options of a filter, made from its declaration. Ids may be shortened; instants may be "2h" or a date."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any
from uuid import UUID

import typer

from app.cli.arguments import read_since
from app.cli.context import Cli
from app.domain.filters import Question, questions
from app.resources.wording import now

_ASKED = "asked"
_IN_A_REFERENCE = ("namespace", "version")
"""Typed with the template: NAMESPACE/NAME:VERSION."""


def with_filter(of: type[Any], *, but: Sequence[str] = ("ids",)) -> Callable[[Any], Any]:
    """Give a command the options of a filter in the place of its parameter `asked`, which is the filter."""
    asked = [one for one in questions(of) if one.field not in but and one.field not in _IN_A_REFERENCE]

    def change(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(cli: Cli, **typed: Any) -> None:
            values = {question: typed.pop(question.name) for question in asked}
            wanted = _filter(of, cli, values, closed_too=typed.pop("all", False))
            function(cli, **{_ASKED: wanted}, **typed)

        made = inspect.signature(function, eval_str=True)
        options = [_option(question) for question in asked]
        if any(question.asked.whatever for question in asked):
            options.insert(1, _parameter("all", bool, "--all", "Closed ones, too.", default=False))
        parameters = [
            part for one in made.parameters.values() for part in (options if one.name == _ASKED else [one])
        ]
        keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters[1:]]
        command.__signature__ = made.replace(parameters=[parameters[0], *keywords])  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        return command

    return change


def _option(question: Question) -> inspect.Parameter:
    kind: Any = question.kind if issubclass(question.kind, StrEnum) else str
    about = f"{question.asked.about.rstrip('.')}; repeatable." if question.is_many else question.asked.about
    annotation = list[kind] if question.is_many else kind
    return _parameter(question.name, annotation | None, question.option, about, question.asked.metavar)


def _parameter(
    name: str, kind: Any, option: str, about: str, metavar: str = "", default: Any = None
) -> inspect.Parameter:
    annotation = Annotated[kind, typer.Option(option, help=about, metavar=metavar or None)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _filter(of: type[Any], cli: Cli, typed: dict[Question, Any], *, closed_too: bool) -> Any:
    values: dict[str, Any] = {}
    for question, value in typed.items():
        if value:
            values |= _value(cli, question, value)
        elif closed_too and question.asked.whatever:
            values[question.field] = ()
    return of(**values)


def _value(cli: Cli, question: Question, value: Any) -> dict[str, Any]:
    if question.is_many:
        return {question.field: tuple(value)}
    if question.field == "template":
        return _reference(value)
    if question.kind is UUID:
        return {question.field: _id(cli, question.field, value)}
    return {question.field: read_since(value, now()) if question.kind is datetime else value}


def _reference(typed: str) -> dict[str, Any]:
    path, _, version = typed.partition(":")
    namespace, _, name = path.rpartition("/")
    parts = {"namespace": namespace, "template": name, "version": version}
    return {name: part for name, part in parts.items() if part}


def _id(cli: Cli, field: str, typed: str) -> UUID:
    if field == "workflow_id":
        from app.resources.workflows import find_workflow

        return find_workflow(cli.database, typed).id
    from app.resources.groups import find_group

    return find_group(cli.database, typed).id
