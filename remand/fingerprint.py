"""Give failures of one kind one name, whatever values they carry: for counting and grouping.

Pure. What varies from case to case (numbers, ids, quoted values, addresses, paths) is masked; a number that
says what kind of failure it is ("HTTP 503", "[Errno 104]") is kept.
"""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import Final

_READ: Final = 2000
_KEPT: Final = 500

_MASKS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), mask)
    for pattern, mask in (
        (r"\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"<>]+", "<url>"),
        (r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+", "<email>"),
        (r"\b(?=\d*[a-f-])[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b", "<id>"),
        (r"\b0x[0-9a-f]+\b", "<address>"),
        (r"(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])", "<address>"),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", "<address>"),
        # An apostrophe within a word ("can't") opens nothing.
        (r"(?<!\w)'[^'\n]*'(?!\w)|\"[^\"\n]*\"|`[^`\n]*`|«[^»\n]*»", "<value>"),
        (r"(?<![\w/])(?:[a-z]:)?[/\\](?:[\w.@+-]+[/\\])+[\w.@+-]*", "<path>"),
    )
)
_WORD = re.compile(r"[\w-]{6,}")
_MIXED = re.compile(r"\d[a-z]", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?P<kind>\b(?:http(?:/[\d.]+)?|status(?: code)?|errno|error|code|sqlstate|signal|exit status)"
    r"[\s:=#(\[]{1,3}-?\d{1,5}\b)|(?:(?<![\w-])[-+])?\d+(?:[.,:]\d+)*",
    re.IGNORECASE,
)
_PLACE = re.compile(r'^  File "(?P<file>[^"\n]*)", line \d+, in (?P<function>.+)$', re.MULTILINE)
_HEAD: Final = "Traceback (most recent call last):"
_OWN: Final = 3
_FOREIGN = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\](?:python|pypy)3[^/\\]*[/\\]"
    r"|[/\\]python3[^/\\]*[/\\]lib[/\\]|^<",
    re.IGNORECASE,
)
_ROOT: Final = Path(__file__).resolve().parents[1]
_PRODUCT: Final = tuple(f"{_ROOT / part}{os.sep}" for part in ("app", "remand", "workers"))


def fingerprint(error_class: str, message: str, traceback: str = "") -> str:
    """Return 16 hexadecimal digits, the same for failures that differ in values only.

    With a traceback (Python's own form) the place of the raise counts, too: the innermost three functions of
    code that is neither the standard library's nor installed nor the product's; no line, no recursion.
    """
    return digest(error_class, masked(message), _place(traceback, message))


def digest(*parts: str) -> str:
    """Return 16 hexadecimal digits that name these texts in this order."""
    return blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def masked(message: str) -> str:
    """Return a message without its values, in lower case, cut to 500 characters."""
    text = message[:_READ]
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    text = _NUMBER.sub(_number, _WORD.sub(_word, text))
    return " ".join(text.lower().split())[:_KEPT]


def _word(match: re.Match[str]) -> str:
    word = match[0]
    return "<id>" if any(_is_id(part) for part in re.split(r"[_-]", word)) else word


def _is_id(part: str) -> bool:
    """Say whether letters and digits are mixed as in ids; `sha256` and `http2` are words."""
    if part.isdigit():
        return False
    if part.isalpha():
        return len(part) >= 16 and not set(part.lower()) - set("abcdef")
    return len(part) >= 10 or (len(part) >= 6 and _MIXED.search(part) is not None)


def _number(match: re.Match[str]) -> str:
    return match["kind"] or "<n>"


def _place(traceback: str, message: str) -> str:
    """Return where it was raised: the innermost functions of users' own code, else the very last one."""
    if "\n" in message:  # a message may tell of frames, too: of another process
        told = traceback.rfind(message)
        traceback = traceback[:told] if told >= 0 else traceback
    places = list(_PLACE.finditer(traceback[max(traceback.rfind(_HEAD), 0) :]))
    own = dict.fromkeys(_named(one) for one in reversed(places) if _is_own(one["file"]))
    return " < ".join(list(own)[:_OWN]) or (_named(places[-1]) if places else "")


def _is_own(file: str) -> bool:
    return _FOREIGN.search(file) is None and not file.startswith(_PRODUCT)


def _named(place: re.Match[str]) -> str:
    # Where code is installed differs between machines and releases; its folder and file do not.
    *folders, name = place["file"].replace("\\", "/").split("/")
    folder = re.sub(r"\d+", "<n>", folders[-1]) if folders else ""
    return f"{folder}/{name}:{place['function']}"
