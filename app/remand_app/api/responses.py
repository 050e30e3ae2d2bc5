"""How responses are written: JSON, ids as text, instants in ISO 8601 UTC; lists as pages with a cursor.

Routes pass in values and get a response back. Nothing is validated twice, so that large pages cost little.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from starlette.responses import Response

from remand_app.domain.page import Page


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as an answer: dataclasses as objects, by the names of their fields."""
    return Response(encoded(value), status, dict(headers or {}), media_type="application/json")


def page(listed: Page[Any], **more: object) -> Response:
    """Return one page of a list."""
    return answer({"items": listed.items, "next": listed.next, "total": listed.total, **more})


def whole(items: Iterable[object]) -> Response:
    """Return a list that is always told whole, as its one page."""
    return page(Page.whole(items))


def page_of_lines(lines: Page[str]) -> Response:
    """Return one page of a list whose items are JSON text already."""
    ends = f'"next":{_encode(lines.next)},"total":{_encode(lines.total)}'
    text = f'{{"items":[{",".join(lines.items)}],{ends}}}'
    return Response(text.encode("utf-8", "replace"), media_type="application/json")


def encoded(value: object) -> bytes:
    """Return JSON text in UTF-8; text that UTF-8 does not have is written as `?`."""
    return _encode(value).encode("utf-8", "replace")


def _plain(value: object) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    match value:
        case UUID() | PurePath():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case timedelta():
            return value.total_seconds()
        case Enum():
            return value.value
        case Mapping():
            return dict(value)
        case set() | frozenset():
            return sorted(value)
        case _:
            raise TypeError(f"a {type(value).__name__} has no JSON")


_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain, check_circular=False
).encode
