"""Own the conversion of users' values to JSON text that Postgres can store: strict and fast.

Python's encoder turns the key `1` into `"1"`, writes NaN, and lets lone surrogates and NUL through until the
database refuses the whole row. Here the value is refused where it is made. The stack does not grow with
the value.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import json
import math
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

from remand_app.domain.errors import JsonInvalid, JsonTooLarge

MAX_DEPTH: Final = 200
"""Nesting that every reader on the way (Python, Postgres, browsers) takes without a deep stack."""

_CYCLE: Final = "refers back to a value that contains it; JSON cannot hold a cycle"
_UNBOUNDED: Final = "unfolds to more values than the limit has bytes"

Path = tuple[str | int, ...]

_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_TEXT_ONLY: Final = frozenset({str})
_LEAVES: Final = frozenset({str, int, float, bool, type(None)})


def encode(value: object, *, what: str, max_bytes: int) -> str:
    """Return the value as compact JSON text, key order kept, tuples as arrays.

    `what` names the value in errors ("result of step charge"); `max_bytes` is the limit of the UTF-8 text.
    Raises `JsonInvalid` with the path of the first fault, `JsonTooLarge` when the text is too long.
    """
    if type(value) not in _LEAVES and not _is_plain(value, max_bytes):
        _refuse_faults(value, what, max_bytes)
    try:
        text = _encode(value)
        size = len(text) if text.isascii() else len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        _refuse_faults(value, what, max_bytes)
        raise JsonInvalid("$", str(error), what=what) from None
    if "\\u0000" in text:
        _refuse_faults(value, what, max_bytes)
    if size > max_bytes:
        raise _too_large(what, max_bytes, f"is {size:,} bytes of JSON")
    return text


def canonical_json(value: object, *, what: str = "value", max_bytes: int = 1 << 30) -> str:
    """Return the one text that all equal JSON values share: keys sorted, `1.0` written as `1`, `-0.0` as `0`.

    Raises as `encode` does.
    """
    parsed = json.loads(encode(value, what=what, max_bytes=max_bytes), parse_float=_shortest_number)
    return json.dumps(parsed, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)


def first_problem(value: object, max_nodes: int = 1 << 24) -> tuple[Path, str] | None:
    """Return where and why the value cannot be JSON, in reading order; None if nothing is wrong.

    Looks at `max_nodes` values at most and calls more a fault: lists that share lists unfold without end.
    """
    path: list[str | int] = []
    frames: list[tuple[int, Iterator[tuple[str | int, object]]]] = [(0, iter(((0, value),)))]
    open_ids: set[int] = set()
    for _ in range(max_nodes):
        while (item := next(frames[-1][1], None)) is None:
            open_ids.discard(frames.pop()[0])
            if not frames:
                return None
            path.pop()
        key, child = item
        problem = _CYCLE if id(child) in open_ids else _problem_at(child, len(path))
        if problem:
            return (*path, key)[1:], problem
        if isinstance(child, (dict, list, tuple)):
            path.append(key)
            open_ids.add(id(child))
            frames.append((id(child), _children(child)))
    return (), _UNBOUNDED


def path_text(path: Path) -> str:
    """Write a path as people read it: `$.items[3].price`; long ones are cut in the middle."""
    text = "$" + "".join(_segment(part) for part in path)
    return text if len(text) <= 200 else f"{text[:150]} … {text[-40:]}"


def _is_plain(value: object, max_nodes: int) -> bool:
    """Look at keys, depth and number of nodes, level by level; a cycle ends at the depth limit.

    The encoder finds all other faults. Every node costs a byte at least: more nodes than bytes are too many.
    """
    level: list[Any] = [value]
    nodes = 0
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for container in level:
            if isinstance(container, dict):
                if not _TEXT_ONLY.issuperset(map(type, container)):
                    return False
                deeper.extend([item for item in container.values() if type(item) not in _LEAVES])
            elif isinstance(container, (list, tuple)):
                deeper.extend([item for item in container if type(item) not in _LEAVES])
            else:
                continue
            nodes += len(container)
        if not deeper or nodes > max_nodes:
            return not deeper
        level = deeper
    return False


def _refuse_faults(value: object, what: str, max_bytes: int) -> None:
    problem = first_problem(value, max_bytes + 1)
    if problem is not None and problem[1] is _UNBOUNDED:
        raise _too_large(what, max_bytes, _UNBOUNDED)
    if problem is not None:
        raise JsonInvalid(path_text(problem[0]), problem[1], what=what)


def _too_large(what: str, max_bytes: int, size: str) -> JsonTooLarge:
    hint = "store it elsewhere and pass a reference, or raise the limit in the settings"
    return JsonTooLarge("$", f"{size}; the limit is {max_bytes:,} bytes", what=what, hint=hint)


def _children(container: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterator[tuple[str | int, object]]:
    return iter(container.items()) if isinstance(container, dict) else enumerate(container)


def _problem_at(value: object, depth: int) -> str | None:
    """Say what is wrong with this value itself, its keys included, its children not."""
    match value:
        case None | bool():
            return None
        case str():
            return _text_problem(value)
        case int():
            return (
                "is an integer of more than 4,000 digits; send it as text"
                if value.bit_length() > 13_000
                else None
            )
        case float():
            return None if math.isfinite(value) else f"is {value}; JSON has no such number: use None or text"
        case dict() | list() | tuple() if depth >= MAX_DEPTH:
            return f"is nested deeper than {MAX_DEPTH} levels; flatten it"
        case dict():
            return next((problem for key in value if (problem := _key_problem(key))), None)
        case list() | tuple():
            return None
        case _:
            return f"is of type {type(value).__qualname__}, which JSON does not have; {_advice(value)}"


def _key_problem(key: object) -> str | None:
    if type(key) is not str:
        kind = type(key).__qualname__
        return f"has the key {key!r:.60} of type {kind}; JSON keys are plain text: use str(key)"
    problem = _text_problem(key)
    return f"has a key that {problem}" if problem else None


def _text_problem(text: str) -> str | None:
    if "\0" in text:
        return "contains NUL (U+0000), which Postgres cannot store; remove it"
    surrogate = None if text.isascii() else re.search("[\ud800-\udfff]", text)
    if surrogate:
        return (
            f"contains a lone surrogate (U+{ord(surrogate[0]):04X}); decode the bytes with errors='replace'"
        )
    return None


_ADVICE: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    ((bytes, bytearray, memoryview), "decode it to text, or use base64"),
    ((dt.date, dt.time), "use .isoformat()"),
    (dt.timedelta, "use .total_seconds()"),
    (decimal.Decimal, "use str() to keep every digit"),
    ((set, frozenset), "use sorted() or list()"),
    ((UUID, PurePath), "use str()"),
    (enum.Enum, "use .value"),
    (BaseException, "raise it instead: a returned error is not a failure"),
)


def _advice(value: object) -> str:
    for kinds, advice in _ADVICE:
        if isinstance(value, kinds):
            return advice
    return "make it a dict, list, text, number, bool or None first"


def _segment(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if re.fullmatch(r"[A-Za-z_]\w*", part) else f"[{json.dumps(part)}]"


def _shortest_number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
