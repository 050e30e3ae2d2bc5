"""Mask secrets in text and in JSON values before they are logged, shown or stored.

Two ways to find one: by the name of what holds it, and by the shape of the text (a password in a URL or in a
libpq connection string, a bearer token, a token of the product's own). A best effort: it cannot know a secret
that is called nothing and looks like nothing. When in doubt it masks: a hidden port costs a look, a shown
password a night.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

MASK: Final = "[redacted]"

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Bounded and anchored, so that a megabyte of traceback costs one pass. A password may hold "/", "@" and "'".
_URL_LOGIN = re.compile(
    r"(?P<head>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/:@'\"]{0,256}:)[^\s\"]{0,1024}(?=@)",
    re.IGNORECASE,
)
# Every secret below is told by a space, a colon or an equals sign, or is a token of ours. Most strings of a
# snapshot are words, ids and instants, which have none that counts.
_HARMLESS = re.compile(r"[^\s=:]*|\d{4}-\d\d-\d\dT[\d:.]{1,20}(?:Z|[+-]\d\d:\d\d)?")
_BEARER = re.compile(r"\b(?P<head>(?:Bearer|Basic|Token)\s+)[A-Za-z0-9+/._~=-]{8,}", re.IGNORECASE)
_OWN_TOKEN = re.compile(r"\brmd_[A-Za-z0-9_-]{20,}")
_DSN_PASSWORD = re.compile(
    r"(?P<head>\b(?:ssl)?(?:password|passwd|pwd)\s{0,4}=\s{0,4})(?:'(?:[^'\\]|\\.)*'?|[^\s;&'\"]+)",
    re.IGNORECASE,
)


def redact_text(text: str, keys: Iterable[str] = ()) -> str:
    """Return the text with passwords in URLs and DSNs, bearer tokens and the values of secret keys masked.

    Knows `key=value`, `key: value`, `"key": "value"` and `'key': 'value'`; a key counts when
    one of `keys` is in it.
    """
    if "rmd_" not in text and _HARMLESS.fullmatch(text):
        return text
    return _masked(text, keys)


def _masked(text: str, keys: Iterable[str]) -> str:
    if "://" in text:
        text = _URL_LOGIN.sub(rf"\g<head>{MASK}", text)
    text = _BEARER.sub(rf"\g<head>{MASK}", text)
    if "rmd_" in text:
        text = _OWN_TOKEN.sub(f"rmd_{MASK}", text)
    text = _DSN_PASSWORD.sub(rf"\g<head>{MASK}", text)
    pattern = _key_values(tuple(keys))
    return text if pattern is None else pattern.sub(_mask_value, text)


def redact_json(value: Any, keys: Iterable[str]) -> Any:
    """Return a copy of a JSON value in which the value of every secret key is masked, at any depth.

    Strings are masked as `redact_text` does. The input is not changed; depth is limited by memory alone.
    """
    names = tuple(keys)
    root: list[Any] = [None]
    pending: list[tuple[Any, Any, Any]] = [(root, 0, value)]
    while pending:
        target, place, node = pending.pop()
        if isinstance(node, Mapping):
            copy: dict[Any, Any] = dict.fromkeys(node, MASK)
            target[place] = copy
            pending.extend((copy, k, v) for k, v in node.items() if not is_secret(str(k), names))
        elif isinstance(node, (list, tuple)):
            items: list[Any] = [None] * len(node)
            target[place] = items
            pending.extend((items, i, v) for i, v in enumerate(node))
        else:
            target[place] = redact_text(node, names) if isinstance(node, str) else node
    return root[0]


def is_clean(text: str, keys: Iterable[str]) -> bool:
    """Say at a glance whether there is nothing in a text that the functions here would mask.

    Of any text, or of a JSON value's whose letters are not escaped. False: there may be something.
    """
    folded = text.casefold()
    for rarest, others in _tell_tales(tuple(keys)):  # the look at one word is all that most texts cost
        if rarest in folded and all(word in folded for word in others):
            return False
    return True


@lru_cache(maxsize=64)
def _tell_tales(keys: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return words of which a text has all of one entry wherever something is masked, the longest first."""
    # The last two are an "i" to a pattern that ignores case, not to `casefold`.
    shapes = ("://", "bearer", "basic", "token", "rmd_", "password", "passwd", "pwd", "\u0131", "i\u0307")
    named = (sorted((w for w in _plain(key).split("_") if w), key=len, reverse=True) for key in keys)
    entries = dict.fromkeys(tuple(words) for words in [*([one] for one in shapes), *named] if words)
    return tuple((words[0], words[1:]) for words in entries)


def is_secret(name: str, keys: Iterable[str]) -> bool:
    """Say whether a name has the words of a key in it: `dbPassword`, `X-Api-Key`, but not `tokenizer`."""
    return _is_secret(name, tuple(keys))


@lru_cache(maxsize=1024)
def _is_secret(name: str, keys: tuple[str, ...]) -> bool:
    words = f"_{_plain(name)}_"
    return any(_has(words, _plain(key)) for key in keys)


def _has(words: str, key: str) -> bool:
    # "apikey" is to match "api_key" and "API-Key": written together as well as apart.
    return bool(key) and (f"_{key}_" in words or f"_{key}s_" in words or f"_{key.replace('_', '')}_" in words)


@lru_cache(maxsize=4096)
def _plain(name: str) -> str:
    return "_".join(_WORDS.findall(name)).lower()


@lru_cache(maxsize=64)
def _key_values(keys: tuple[str, ...]) -> re.Pattern[str] | None:
    parts = [
        part for key in keys if (part := "[_-]?".join(re.escape(w) for w in _plain(key).split("_") if w))
    ]
    if not parts:
        return None
    camel = "|".join("".join(w.capitalize() for w in _plain(key).split("_")) for key in keys)
    snake = rf"(?:[A-Za-z0-9]{{1,40}}[_-]){{0,4}}(?i:{'|'.join(parts)})s?(?:[_-][A-Za-z0-9]{{1,40}}){{0,4}}"
    name = rf"(?<![A-Za-z0-9])(?:{snake}|[a-z][A-Za-z0-9]{{0,40}}?(?:{camel})s?)"
    quoted = r"\\\"[^\"]*\"?|\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?"
    return re.compile(
        rf"(?P<head>(?P<quote>\\?[\"']?){name}(?P=quote)\s{{0,4}}(?:=>|[:=])\s{{0,4}})"
        rf"(?P<value>{quoted}|[^\s,;&\"'(){{}}\[\]]+)"
    )


def _mask_value(match: re.Match[str]) -> str:
    quote = next((q for q in ('\\"', '"', "'") if match["value"].startswith(q)), "")
    return f"{match['head']}{quote}{MASK}{quote}"
