"""Declare the filters of a list once: every interface and the store read the same declaration.

A filter is a frozen dataclass whose fields are made by `asked`. From them come the query parameters of the
API, the options of the command line, the form of the dashboard and the conditions of the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from remand_app.domain.errors import InputInvalid
from remand_app.domain.instants import read_instant

Match = Literal["equal", "one of", "contains", "in text", "dotted", "from", "before", "none"]
"""How a column is compared. "dotted": also all that begins with it and a dot; "none": the store reads it
itself."""
F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that a list can be asked for."""

    about: str
    typed: str = ""
    """The same on the command line, where it is typed in another way; empty: `about`."""
    name: str = ""
    """At the doors; empty: as the field is called."""
    option: str = ""
    """On the command line; empty: `--name`."""
    parts: tuple[str, ...] = ()
    """On the command line, one reference (namespace/name:version) fills these fields; this is one of them."""
    label: str = ""
    """On a form; empty: it has no field there, but addresses may carry it."""
    match: Match = "equal"
    column: str = ""
    """Of its table; empty: as it is called at the doors."""
    least: int = 0
    """Characters that a text needs."""
    pattern: str = ""
    """Of a text, as a regular expression; empty: any line."""
    choices: tuple[str, ...] = ()
    """What a text may be, where it is not free."""
    example: str = ""
    placeholder: str = ""
    """In its field on a form."""
    metavar: str = ""
    usual: str = ""
    """The word for the default, where that asks for something."""
    whatever: str = ""
    """And for asking for nothing, then."""


@dataclass(frozen=True, slots=True)
class Question:
    """A field of a filter as the doors see it."""

    field: str
    kind: type
    is_many: bool
    default: Any
    asked: Asked

    @property
    def name(self) -> str:
        """What the API and the forms call it."""
        return self.asked.name or self.field

    @property
    def option(self) -> str:
        """What the command line calls it."""
        return self.asked.option or f"--{self.name.replace('_', '-')}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it can have; empty: any."""
        return tuple(self.kind) if issubclass(self.kind, StrEnum) else self.asked.choices


def asked(about: str, *, default: Any = None, **more: Any) -> Any:
    """Make a field of a filter; `more`: as in `Asked`. None, or no items, asks for nothing."""
    return field(default=default, metadata={"asked": Asked(about, **more)})


def questions(of: Any) -> tuple[Question, ...]:
    """Return what a filter can be asked for, in the order of its fields."""
    return _questions(of)


@cache
def _questions(of: Any) -> tuple[Question, ...]:
    hints = get_type_hints(of)
    return tuple(
        Question(part.name, *_kind(hints[part.name]), _default(part), part.metadata["asked"])
        for part in fields(of)
        if "asked" in part.metadata
    )


def _default(part: Any) -> Any:
    return None if part.default is MISSING else part.default


def _kind(hint: Any) -> tuple[type, bool]:
    if get_origin(hint) is tuple:
        return get_args(hint)[0], True
    if get_origin(hint) in {Union, UnionType}:
        return next(part for part in get_args(hint) if part is not NoneType), False
    return hint, False


def read(of: type[F], sent: Mapping[str, Sequence[str]]) -> F:
    """Return the filter that an address or a form asks for; unknown or empty fields are ignored.

    Raises:
        InputInvalid: a value is none of those known.
    """
    values: dict[str, Any] = {}
    for question in questions(of):
        texts = [text.strip() for text in sent.get(question.name, ()) if text.strip()]
        if texts and texts != [question.asked.usual]:
            values[question.field] = _read(question, texts)
    return of(**values)


def _read(question: Question, texts: Sequence[str]) -> Any:
    try:
        if question.is_many:
            if texts == [question.asked.whatever]:
                return ()
            return tuple(_value(question.kind, part) for text in texts for part in _parts(question, text))
        return _value(question.kind, texts[-1])
    except ValueError as error:
        raise InputInvalid(f"this is no {question.name.replace('_', ' ')}: {error}") from None


def _parts(question: Question, text: str) -> list[str]:
    # There may be many ids: an address carries them in one parameter.
    return [part.strip() for part in text.split(",") if part.strip()] if question.kind is UUID else [text]


def _value(kind: type, text: str) -> Any:
    return read_instant(text, naive_is_utc=True) if kind is datetime else kind(text)


def from_json(question: Question, value: Any) -> Any:
    """Return the value of a field that is stored as JSON types.

    Raises:
        ValueError, TypeError, InstantInvalid: it is of another type, or none of those known.
    """
    if question.is_many:
        return tuple(_stored(question.kind, part) for part in value)
    return None if value is None else _stored(question.kind, value)


def _stored(kind: type, value: Any) -> Any:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    # An instant without a zone is refused: nobody typed it.
    return read_instant(value) if kind is datetime else kind(value)


def written(wanted: Any) -> dict[str, list[str]]:
    """Return a filter as the fields of an address; `read` makes the same of them."""
    made = {}
    for question in questions(type(wanted)):
        value = getattr(wanted, question.field)
        if value != question.default:
            made[question.name] = list(_texts(value)) if value else [question.asked.whatever]
    return made


def _texts(value: Any) -> Iterator[str]:
    if not isinstance(value, tuple):
        yield value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
    elif value and isinstance(value[0], UUID):
        yield ",".join(str(part) for part in value)
    else:
        yield from (str(part) for part in value)
