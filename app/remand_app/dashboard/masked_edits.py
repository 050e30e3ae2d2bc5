"""What somebody edited on a page that showed masks: the secrets go back where they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remand.redact import MASK, redact_json
from remand_app.domain.errors import InputInvalid


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
