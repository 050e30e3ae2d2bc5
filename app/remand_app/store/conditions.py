"""Turn what a filter declares into conditions on the columns of a table."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from remand_app.domain.filters import Question, questions


def conditions(table: sa.Table, wanted: Any) -> list[sa.ColumnElement[bool]]:
    """Return the conditions of a filter; none if it asks for everything."""
    return [
        _condition(table, question, value)
        for question in questions(type(wanted))
        if question.asked.match != "none" and (value := getattr(wanted, question.field)) not in (None, ())
    ]


def _condition(table: sa.Table, question: Question, value: Any) -> sa.ColumnElement[bool]:
    column: Any = table.c[question.asked.column or question.name]
    made: sa.ColumnElement[bool]
    match question.asked.match:
        case "one of":
            made = column.in_([str(part) if isinstance(part, str) else part for part in value])
        case "contains":
            made = column.contains([value])
        case "in text":
            made = column.icontains(value, autoescape=True)
        case "dotted" if "." in value:
            made = column == value
        case "dotted":
            made = column.startswith(f"{value}.", autoescape=True)
        case "from":
            made = column >= value
        case "before":
            made = column < value
        case _:
            made = column == value
    return made
