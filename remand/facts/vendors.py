"""Read the codes of vendors' APIs: from the exception, the response it holds, and the response's body."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from remand.facts.reading import item, read
from remand.facts.subject import Subject, worst_of_bulk

_CLEAN = re.compile(r"[^a-z0-9]+")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:-]{3,80}")
_OF_PARTS = re.compile(r"[A-Za-z0-9]+(?:[_.:-][A-Za-z0-9]+)+|[A-Za-z]*[a-z][A-Z]\w*")
_LONGEST: Final = 80
"""Most characters of a code; a longer text is a sentence."""
_PRODUCT_LETTERS: Final = 3
_SAID: Final = frozenset(
    {
        "type",
        "code",
        "error_code",
        "error_name",
        "error_type",
        "err_code",
        "errorcode",
        "error",
        "reason",
        "errors",
    }
)
_OWN_CODES: Final = ("type", "code", "error_code", "error_name", "errorcode", "error_type")
_NAMES_OF_CODES: Final = (
    "type",
    "code",
    "errorCode",
    "error_code",
    "errorName",
    "errorType",
    "reason",
    "status",
)
_PHRASES: Final[dict[int, str]] = {status.value: status.phrase for status in HTTPStatus}


def vendor_codes(facts: Subject) -> tuple[str, ...]:
    """Return the codes as they stand, the most telling first."""
    body, own = facts.body, facts.get("error")
    if isinstance(body, (list, tuple)):  # Salesforce answers with a list of errors
        body = item(body, 0)
    answer = item(facts.get("args"), 0)
    if body is None and isinstance(answer, Mapping):  # PyHive passes on what Presto answered
        body = answer
    if body is None and facts.present.isdisjoint(_SAID) and not _is_like_mapping(facts.response):
        return ()
    error = item(body, "error") if isinstance(body, Mapping) else None
    said = [*_of_answer(facts.response), *_of_exception(facts)]
    for holder in (error, body, own):
        if holder is not None:
            said += _of_holder(holder)
    said += (error, *_reasons(facts.get("errors") or item(error, "errors")))
    codes = [code for code in said if isinstance(code, str) and 0 < len(code) <= _LONGEST]
    if not codes:
        return ()
    phrases = _phrases(facts)
    return tuple(code for code in codes if code.lower() not in phrases)


def _of_answer(response: object) -> tuple[object, ...]:
    if not _is_like_mapping(response):
        return ()
    return item(item(response, "Error"), "Code"), item(response, "error")


def _is_like_mapping(response: object) -> bool:
    return response is not None and (isinstance(response, dict) or callable(read(response, "get")))


def _of_exception(facts: Subject) -> tuple[object, ...]:
    return (
        *(facts.get(name) for name in _OWN_CODES if name in facts.present),
        facts.get("error"),
        _own_reason(facts),
    )


def _of_holder(holder: object) -> tuple[object, ...]:
    if type(holder) is dict:
        return tuple(holder.get(name) for name in _NAMES_OF_CODES)
    if isinstance(holder, Mapping):
        return tuple(item(holder, name) for name in _NAMES_OF_CODES)
    return () if isinstance(holder, str) else (read(holder, "code"),)


def _own_reason(facts: Subject) -> object:
    """Return the `reason` of an exception, unless it is the reason phrase of an HTTP response.

    A reason phrase is free text ("File not found"); a vendor's reason beside a status is one word of several
    parts (RATE_LIMIT_EXCEEDED).
    """
    reason = facts.get("reason")
    if isinstance(reason, str) and facts.status is not None and _OF_PARTS.fullmatch(reason) is None:
        return None
    return reason


def _phrases(facts: Subject) -> Collection[str]:
    """Return, in lower case, the reason phrases beside the response's status: many bodies repeat them."""
    if facts.status is None:
        return ()
    holders = (facts.response, facts.get("resp"))
    said = [_PHRASES.get(facts.status), *(read(holder, "reason") for holder in holders)]
    return [phrase.lower() for phrase in said if isinstance(phrase, str)]


def _reasons(errors: object) -> list[object]:
    if not isinstance(errors, (list, tuple)):
        return []
    said = [item(error, "reason") for error in errors[:5] if isinstance(error, Mapping)]
    return [*said, item(item(worst_of_bulk(errors), "error"), "type")]


def plain_code(code: str) -> str:
    """Return a vendor's code as the rules write it: lower case, no separators, no final "exception"."""
    return _CLEAN.sub("", code.lower()).removesuffix("exception")


@lru_cache(maxsize=1024)
def words_of(code: str) -> tuple[str, ...]:
    """Return the ends of a code of several words: `DBInstanceNotFound` ends in `…notfound`."""
    if _IDENTIFIER.fullmatch(code) is None:
        return ()
    words = [word.lower() for word in _WORDS.findall(code)]
    if words and words[-1] in {"exception", "error", "fault"}:
        words.pop()
    if len(words) < 2:
        return ()
    ends = (f"…{''.join(words[-3:])}", f"…{words[-2]}{words[-1]}", f"…{words[-1]}", f"{words[0]}…")
    return tuple(dict.fromkeys(ends))


@lru_cache(maxsize=1024)
def words_of_class(name: str) -> tuple[str, ...]:
    """Return the ends of the name of a class, the longest first: `shop.RateLimitError` ends in `…ratelimit`.

    First words such as `Invalid` or `NonExistent` are yielded last (`invalid…`), where they are not all there
    is. What stands before them is dropped: `Error`, and the product (`SMBUnsupportedFeature` of smbprotocol).
    """
    words = [word.lower() for word in _WORDS.findall(name.rpartition(".")[2])]
    while words and words[-1] in {"exception", "error", "err", "fault", "failure", "warning"}:
        words.pop()
    while len(words) > 1 and _is_in_front(words[0], name.partition(".")[0].lower()):
        del words[0]
    ends = [f"…{''.join(words[-count:])}" for count in (3, 2, 1) if count <= len(words)]
    starts = [f"{''.join(words[:count])}…" for count in (2, 1) if count < len(words)]
    return (*ends, *starts)


def _is_in_front(word: str, package: str) -> bool:
    is_product = len(word) >= _PRODUCT_LETTERS and (package.startswith(word) or package.endswith(word))
    # OPC UA puts a word for how bad it is before every name of a status.
    is_mark = word in {"error", "err"} or (word == "bad" and package in {"asyncua", "opcua"})
    return is_product or is_mark
