"""Give failures of one kind the same name, whatever values they carry: for counting and grouping.

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
_MARKS: Final = {"'": ("\ue000", "\ue001"), '"': ("\ue002", "\ue003")}
"""Marks that replace the quotes around kept text while other quoted text is masked."""
_NO_MARKS: Final = str.maketrans("", "", "\ue000\ue001\ue002\ue003")
_QUOTES: Final = str.maketrans("\ue000\ue001\ue002\ue003", "''\"\"")
_MARKED: Final = re.compile("[\ue000\ue002][^\ue001\ue003]*[\ue001\ue003]|[^\ue000\ue002]+")
_SENTENCE: Final = re.compile(r"\A(?P<quote>['\"])(?P<kept>[^\n]{1,80})(?P=quote)\Z")
_IDENTIFIER: Final = re.compile(r"(?<!\w)(?P<quote>['\"])(?P<kept>[A-Za-z_][\w.\[\]-]{0,39})(?P=quote)(?!\w)")
_OF_A_CODE: Final = re.compile(
    r"(?P<quote>['\"])(?P<key>error|errors|code|error_code|errorcode|type|reason|status)(?P=quote)\s*:\s*"
    r"(?P=quote)(?P<kept>[A-Za-z][A-Za-z_.-]{1,59})(?P=quote)",
    re.IGNORECASE,
)
_OF_THE_CODE: Final = frozenset(
    {"AttributeError", "NameError", "UnboundLocalError", "TypeError", "ImportError", "ModuleNotFoundError"}
)
"""Classes whose quoted words are names in the code: the same mistake quotes the same names."""
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
_PRODUCT: Final = f"{Path(__file__).resolve().parent}{os.sep}"
_SERVICE: Final = re.compile(r"[/\\]remand_(?:app|workers)[/\\]")


def fingerprint(error_class: str, message: str, traceback: str = "") -> str:
    """Return 16 hexadecimal digits, the same for failures that differ in values only.

    With a traceback (Python's own form) the place of the raise counts, too: the innermost three functions of
    code that is neither the standard library's nor installed nor the product's; no line, no recursion.
    """
    return digest(error_class, masked(message, error_class), _place(traceback, error_class, message))


def digest(*parts: str) -> str:
    """Return 16 hexadecimal digits that name these texts in this order."""
    return blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def masked(message: str, error_class: str = "") -> str:
    """Return a message without its values, in lower case, cut to 500 characters.

    Two things stay, as the message says nothing without them: the quoted names in a KeyError, an
    AttributeError and their like, and the codes in a response that is quoted whole.
    """
    text = _with_marks(message[:_READ].translate(_NO_MARKS), error_class)
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    text = _NUMBER.sub(_number, _WORD.sub(_word, text))
    lowered = _MARKED.sub(_in_lower_case, text).translate(_QUOTES)
    return " ".join(lowered.split())[:_KEPT]


def _with_marks(text: str, error_class: str) -> str:
    """Return a text in which marks stand for the quotes around what is kept."""
    text = _OF_A_CODE.sub(_mark, text)
    name = error_class.rpartition(".")[2]
    if name.endswith("KeyError"):  # all of its text is the key, as it was written
        return _SENTENCE.sub(_mark, text)
    return _IDENTIFIER.sub(_mark, text) if name in _OF_THE_CODE else text


def _mark(match: re.Match[str]) -> str:
    opened, closed = _MARKS[match["quote"]]
    key = match.groupdict().get("key")
    return f"{f'{opened}{key}{closed}: ' if key else ''}{opened}{match['kept']}{closed}"


def _in_lower_case(match: re.Match[str]) -> str:
    return match[0].lower() if match[0][0] not in "\ue000\ue002" else match[0]


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


def _place(traceback: str, error_class: str, message: str) -> str:
    """Return where it was raised: the innermost functions of users' own code, else the very last function."""
    announced = traceback.rfind(f"\n{error_class}: {message}")
    if announced >= 0:
        # The text after it is about its wrappers; frames quoted in a message are another program's.
        traceback = traceback[: announced + 1]
    places = list(_PLACE.finditer(traceback[max(traceback.rfind(_HEAD), 0) :]))
    own = dict.fromkeys(_named(place) for place in reversed(places) if _is_own(place["file"]))
    return " < ".join(list(own)[:_OWN]) or (_named(places[-1]) if places else "")


def _is_own(file: str) -> bool:
    return _FOREIGN.search(file) is None and _SERVICE.search(file) is None and not file.startswith(_PRODUCT)


def _named(place: re.Match[str]) -> str:
    # Where code is installed differs between machines and releases; its folder and file do not.
    *folders, name = place["file"].replace("\\", "/").split("/")
    folder = re.sub(r"\d+", "<n>", folders[-1]) if folders else ""
    return f"{folder}/{name}:{place['function']}"
