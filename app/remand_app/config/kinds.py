"""Value types that settings share: numbers that refuse booleans, lists that fit an environment variable."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import BeforeValidator


def _refuse_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("should be a number, not true or false")  # noqa: TRY004 - pydantic collects these
    return value


def _split(value: object) -> object:
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return [part.strip() for part in value.split(",") if part.strip()]
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"starts like a JSON list but is none: {error}") from None


Seconds = Annotated[float, BeforeValidator(_refuse_bool)]
Count = Annotated[int, BeforeValidator(_refuse_bool)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
