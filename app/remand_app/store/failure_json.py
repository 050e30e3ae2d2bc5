"""How a failure is stored: as JSON, which only this module writes and reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from remand.failure import Failure, capture


class _AsObject:
    """Has the API's document describe a field as an object with any keys."""

    @staticmethod
    def __get_pydantic_core_schema__(*_: object) -> dict[str, Any]:
        return {"type": "dict"}


FailureJson = Annotated[Failure, _AsObject]
"""A failure in a value that is public JSON."""


def write(failure: Failure) -> str:
    """Return the failure as JSON text."""
    return json.dumps(failure.to_json())


def read_if_any(stored: Any) -> Failure | None:
    """Return a stored failure, or the readable parts of it; None: nothing failed."""
    return None if stored is None else read(stored)[0]


def read(stored: Any) -> tuple[Failure, Exception | None]:
    """Return a stored failure and None, or the readable parts of it and what is wrong with the rest."""
    try:
        return Failure.from_json(stored), None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return _salvage(stored), error


def _salvage(stored: Any) -> Failure:
    """Keep each part that has the expected type; say of any other part that it could not be read."""
    unread = capture(RuntimeError("what was stored of this failure cannot be read")).to_json()
    known = _of_same_type(stored, unread)
    verdict = _of_same_type(known.get("classification"), unread["classification"])
    return Failure.from_json({**unread, **known, "classification": {**unread["classification"], **verdict}})


def _of_same_type(stored: Any, model: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(stored, Mapping):
        return {}
    return {name: value for name, value in stored.items() if type(value) is type(model.get(name))}
