"""Options of a filter, made from its declaration. Ids may be shortened; instants may be "2h" or a date."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import typer

from remand_app.cli.arguments import read_since
from remand_app.cli.context import Cli
from remand_app.domain.errors import InputInvalid
from remand_app.domain.filters import Question, questions
from remand_app.domain.template_reference import split_reference
from remand_app.resources.wording import now


def filter_of(of: type[Any], *, but: Sequence[str] = (), all: str = "") -> Callable[..., Any]:
    """Return what `with_options` takes for a filter: a function of its options that returns the filter.

    `all`: the help of an option that takes a filter's usual restriction away; empty: there is none.
    """
    asked = [
        question
        for question in questions(of)
        if question.field not in but and not _is_in_a_reference(of, question)
    ]
    usual = next((question.field for question in questions(of) if question.is_many and question.default), "")

    def make(cli: Cli, **typed: Any) -> Any:
        values: dict[str, Any] = {usual: ()} if typed.pop("all", False) else {}
        for question in asked:
            value = typed[question.field]
            if value is not None and value != []:
                _refuse_empty(question, value)
                values |= _value(cli, question, value)
        return of(**values)

    options = [_option(question) for question in asked]
    if all:
        # Beside the option whose default it takes away, where there is one.
        place = next((place for place, question in enumerate(asked, 1) if question.field == usual), 0)
        options.insert(place, _parameter("all", bool, "--all", all, default=False))
    cli = inspect.Parameter("cli", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Cli)
    make.__signature__ = inspect.Signature([cli, *options])  # type: ignore[attr-defined]
    return make


def _refuse_empty(question: Question, value: Any) -> None:
    """Refuse an empty text: to a bulk verb, what restricts nothing is another set of letters."""
    if "" in (value if isinstance(value, list) else [value]):
        raise InputInvalid(f"{question.option} is empty", hint="leave it out, or say what it must be")


def _is_in_a_reference(of: type[Any], question: Question) -> bool:
    return any(
        question.field in other.asked.parts and other.field != question.field for other in questions(of)
    )


def _option(question: Question) -> inspect.Parameter:
    kind: Any = question.kind if issubclass(question.kind, StrEnum) else str
    about = question.asked.typed or question.asked.about
    if question.is_many:
        about, kind = f"{about.rstrip('.')}; repeatable.", list[kind]
    default = None if question.is_many else question.default
    return _parameter(
        question.field,
        kind if default else kind | None,
        question.option,
        about,
        question.asked.metavar,
        default,
    )


def _parameter(
    name: str, kind: Any, option: str, about: str, metavar: str = "", default: Any = None
) -> inspect.Parameter:
    annotation = Annotated[kind, typer.Option(option, help=about, metavar=metavar or None)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _value(cli: Cli, question: Question, value: Any) -> dict[str, Any]:
    if question.is_many:
        return {question.field: tuple(value)}
    if question.asked.parts:
        parts = zip(question.asked.parts, split_reference(value), strict=True)
        return {field: part for field, part in parts if part}
    if question.kind is UUID:
        return {question.field: _id(cli, question.field, value)}
    return {question.field: read_since(value, now()) if question.kind is datetime else value}


def _id(cli: Cli, field: str, typed: str) -> UUID:
    if field == "workflow_id":
        from remand_app.resources.workflows import find_workflow_id

        return find_workflow_id(cli.database, typed)
    from remand_app.resources.groups import find_group_id

    return find_group_id(cli.database, typed)
