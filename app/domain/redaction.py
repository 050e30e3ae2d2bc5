"""Take secrets out of what is shown, logged or kept in a snapshot.

Two ways to find one: by the name of the field that holds it, and by the shape of the text (a password in a
URL or in a libpq connection string). When in doubt it masks: a hidden port costs a look, a shown password a
night.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

MASK = "***"

# Bounded and anchored, so that a megabyte of traceback costs one pass.
_IN_URL = re.compile(
    r"(?P<head>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^:/@\s\"']{0,255}:)[^\s\"']{0,1023}(?=@)",
    re.IGNORECASE,
)
_IN_PAIR = re.compile(
    r"(?P<head>\b(?:ssl)?passw(?:or)?d\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^&\s'\"]+)", re.IGNORECASE
)


def mask_text(text: str) -> str:
    """Replace passwords inside URLs and `password=…` pairs by `***`; other text stays as it is."""
    if "://" in text:
        text = _IN_URL.sub(rf"\g<head>{MASK}", text)
    if "=" in text:
        text = _IN_PAIR.sub(rf"\g<head>{MASK}", text)
    return text


def redact(value: object, keys: Collection[str]) -> object:
    """Return a copy of a JSON-like value in which nothing under a secret name is left.

    `keys` are parts of names, in any case, "-" and "_" alike: `token` also hides `X-Access-Token`. A value
    under such a name is replaced whole, whatever its type. Texts everywhere else go through `mask_text`.
    """
    return _redact(value, tuple(_plain(key) for key in keys))


def _redact(value: object, secret: tuple[str, ...]) -> object:
    match value:
        case str():
            return mask_text(value)
        case Mapping():
            return {
                key: MASK if _is_secret(key, secret) else _redact(held, secret) for key, held in value.items()
            }
        case list() | tuple():
            return [_redact(held, secret) for held in value]
        case _:
            return value


def _is_secret(name: object, secret: tuple[str, ...]) -> bool:
    return isinstance(name, str) and any(part in _plain(name) for part in secret)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
