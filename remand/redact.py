"""Mask secrets in text and in JSON values before they are logged, shown or stored.

A secret is found in two ways: by the name of what holds it (`remand.secret_names`, `remand.secret_values`),
or by its shape or surroundings (`remand.secret_shapes`, `remand.secret_logins`). This is a best effort: a
secret without a telling name or shape is not found. When in doubt the text is masked: a hidden port number
does less harm than a shown password. Time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from remand import secret_shapes
from remand.secret_names import DEFAULT_KEYS, PASSWORDS, is_counted, plain
from remand.secret_names import is_secret as _is_secret
from remand.secret_shapes import MASK, looks_random

__all__ = ["DEFAULT_KEYS", "MASK", "is_clean", "is_secret", "redact_json", "redact_text"]

# Most strings of a snapshot are words, ids and instants, in which nothing can be found.
# A key that is known by its shape has 22 characters or more: `whsec_` and 16.
_HARMLESS: Final = re.compile(
    r"[^\s=:%>]{0,14}|[a-z_]{0,21}|\d{4}-\d\d-\d\dT[\d:.]{1,20}(?:Z|[+-]\d\d:\d\d)?"
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
)
_OF_LOGINS: Final = (
    "://", "sig", "hmac=", "jwt=", "key=", "code=", "auth=", "session=", "sid=", "ticket=", "assertion=",
    "bearer", "basic", "digest", "jdbc:oracle:", "@tcp(", "@unix(", "curl", "sshpass", "identified", "-us",
)  # fmt: skip
"""Each text in which `remand.secret_logins` finds anything holds one of these, in any letter case."""
_ACTOR: Final = re.compile(r"token:[a-z0-9][a-z0-9._@+-]{0,63}")


def redact_text(text: str, keys: Iterable[str] = DEFAULT_KEYS) -> str:
    """Return the text without secrets: values of what a key names, logins, keys and tokens by their shape.

    A name counts when one of `keys` is in it; those of passwords always do.
    """
    return text if _HARMLESS.fullmatch(text) else _masked(text, tuple(keys))


def _masked(text: str, keys: tuple[str, ...]) -> str:
    if is_clean(text, keys):
        return text
    # Loaded only when there is something to mask: commands that mask nothing do not pay for the patterns.
    from remand.secret_logins import mask_logins  # noqa: PLC0415
    from remand.secret_values import mask_values  # noqa: PLC0415

    text = secret_shapes.mask_private_keys(text)
    text = mask_logins(text, text.casefold())
    return secret_shapes.mask_shapes(mask_values(text, _with_passwords(keys)))


@lru_cache(maxsize=64)
def _with_passwords(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*PASSWORDS, *keys)))


def redact_json(value: Any, keys: Iterable[str] = DEFAULT_KEYS) -> Any:
    """Return a copy of a JSON value in which the value of every secret key is masked, at any depth.

    Strings are masked as `redact_text` does; so are values that `{"name": …, "value": …}` or a pair in a list
    names as secret. The input is not changed; depth is limited by memory alone.
    """
    names = tuple(keys)
    root: list[Any] = [None]
    pending: list[tuple[Any, Any, Any]] = [(root, 0, value)]
    while pending:
        target, place, node = pending.pop()
        if isinstance(node, Mapping):
            copy: dict[Any, Any] = dict.fromkeys(node, MASK)
            target[place] = copy
            hidden = _named_value(node, names)
            pending.extend(
                (copy, k, v) for k, v in node.items() if k != hidden and not _hides(str(k), v, names)
            )
        elif isinstance(node, (list, tuple)):
            items: list[Any] = [None] * len(node)
            target[place] = items
            pending.extend((items, i, v) for i, v in enumerate(node))
            if _is_pair(node, names):
                pending[-1] = (items, 1, MASK)
        elif isinstance(node, str):
            is_actor = isinstance(place, str) and place.endswith("by") and _ACTOR.fullmatch(node)
            target[place] = node if is_actor else redact_text(node, names)
        else:
            target[place] = node
    return root[0]


def _hides(name: str, value: Any, keys: tuple[str, ...]) -> bool:
    return _is_secret(name, keys) and not (isinstance(value, (int, float)) and is_counted(name))


def _named_value(node: Mapping[Any, Any], keys: tuple[str, ...]) -> Any:
    """Return the key of the value in `{"name": "DB_PASSWORD", "value": …}`, None for anything else."""
    if "value" not in node or not isinstance(node["value"], str):
        return None
    name = node.get("name", node.get("key"))
    return "value" if isinstance(name, str) and _is_secret(name, keys) else None


def _is_pair(node: Sequence[Any], keys: tuple[str, ...]) -> bool:
    """Say whether a list is a header or the like, `["X-Token", "a1b2c3d4"]`, and not two names."""
    match node:
        case [str() as name, str() as value]:
            return _is_secret(name, keys) and (" " in value or looks_random(value, 8))
        case _:
            return False


def is_clean(text: str, keys: Iterable[str] = DEFAULT_KEYS) -> bool:
    """Say quickly whether a text surely holds nothing that the functions here would mask.

    For any text, or the text of a JSON value whose letters are not escaped. False: there may be something.
    """
    folded = text.casefold()
    for rarest, others in _tell_tales(tuple(keys)):  # for most texts, one word is enough to decide
        if rarest in folded and all(word in folded for word in others):
            return False
    return True


@lru_cache(maxsize=64)
def _tell_tales(keys: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return entries of words: a text with something to mask has all words of some entry. Longest first."""
    shapes = (*_OF_LOGINS, *(needle.casefold() for needle in secret_shapes.NEEDLES))
    named = (
        sorted((w for w in plain(key).split("_") if w), key=len, reverse=True)
        for key in _with_passwords(keys)
    )
    entries = dict.fromkeys(tuple(words) for words in [*([shape] for shape in shapes), *named] if words)
    return tuple((words[0], words[1:]) for words in entries)


def is_secret(name: str, keys: Iterable[str] = DEFAULT_KEYS) -> bool:
    """Say whether a name has the words of a key in it: `dbPassword`, `X-Api-Key`, but not `tokenizer`."""
    return _is_secret(name, tuple(keys))
