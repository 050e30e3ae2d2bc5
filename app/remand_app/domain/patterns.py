r"""Own regular expressions that users write: in JSON Schema, in rules of settings and templates.

They run in RE2, in time linear in the text: no pattern and no text can block the interpreter. What RE2 does
not have (backreferences, look-around, possessive and atomic groups) is refused with words that say so. As in
Python, `\w`, `\d` and `\s` know all scripts; `\b` knows ASCII.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

MAX_LENGTH: Final = 2_000
"""Characters of one pattern."""
_KNOWN: Final = 2_000
_TOKEN: Final = re.compile(r"\\u([0-9A-Fa-f]{4})|\\(.)|(\[\^?\]?)|(\])", re.DOTALL)
_SPACE: Final = r"\s\v\x{1c}-\x{1f}\x{85}\p{Z}"
_INSIDE: Final = {"w": r"\p{L}\p{N}_", "d": r"\p{Nd}", "D": r"\P{Nd}", "s": _SPACE, "Z": "Z"}
_OUTSIDE: Final = {
    "w": r"[\p{L}\p{N}_]",
    "W": r"[^\p{L}\p{N}_]",
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "s": f"[{_SPACE}]",
    "S": f"[^{_SPACE}]",
    "Z": r"\z",
}
_MISSING: Final = (
    (re.compile(r"\(\?(<?[=!])"), "look-around, such as (?=…) or (?<!…)"),
    (re.compile(r"\(\?P=|\\[1-9]|\\k<"), "backreferences, such as \\1"),
    (re.compile(r"\(\?>|[*+?}]\+"), "atomic groups and possessive repetition"),
    (re.compile(r"\(\?\("), "conditions"),
)


class PatternInvalid(ValueError):
    """A pattern that cannot be used; its text says why."""


class Pattern:
    """A pattern that was compiled."""

    __slots__ = ("_compiled", "pattern")

    def __init__(self, pattern: str, compiled: Any) -> None:
        self.pattern, self._compiled = pattern, compiled

    def search(self, text: str) -> bool:
        """Tell whether the pattern fits anywhere in the text, in time linear in its length."""
        try:
            return self._compiled.search(text) is not None
        except UnicodeEncodeError:
            # Lone surrogates occur in messages of failures; inputs hold none.
            return self._compiled.search(text.encode(errors="replace").decode()) is not None


@lru_cache(_KNOWN)
def compile_pattern(pattern: str, *, ignore_case: bool = False) -> Pattern:
    """Return the pattern, ready to be searched for.

    Raises:
        PatternInvalid: it is none, is too long, or needs what RE2 does not have.
    """
    # Loaded only where there is a pattern, which few commands have.
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415

    if len(pattern) > MAX_LENGTH:
        raise PatternInvalid(f"has {len(pattern):,} characters; the limit is {MAX_LENGTH:,}")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return Pattern(pattern, re2.compile(_translated(pattern), options))
    except (re2.error, UnicodeEncodeError) as error:
        raise PatternInvalid(_why(pattern, error)) from None


@lru_cache(_KNOWN)
def published_pattern(pattern: str, *, ignore_case: bool = False) -> Pattern:
    """Return a pattern of a published template, which was checked when it was published.

    A pattern that RE2 cannot run was published before RE2 was used: Python's engine still runs it.

    Raises:
        PatternInvalid: it is none for either.
    """
    try:
        return compile_pattern(pattern, ignore_case=ignore_case)
    except PatternInvalid:
        try:
            return Pattern(pattern, re.compile(pattern, re.IGNORECASE if ignore_case else 0))
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternInvalid(f"is not a regular expression: {error}") from None


def _why(pattern: str, error: Exception) -> str:
    for sign, name in _MISSING:
        if sign.search(pattern):
            return f"uses {name}: patterns run in RE2, in linear time, which has none"
    said = error.args[0] if error.args else "it cannot be read"
    return (
        f"is not a regular expression: {said.decode(errors='replace') if isinstance(said, bytes) else said}"
    )


def _translated(pattern: str) -> str:
    """Write Python's and ECMAScript's words for classes of characters as RE2's."""
    is_inside = False

    def word(match: re.Match[str]) -> str:
        nonlocal is_inside
        code, escaped, opened, closed = match.groups()
        if code is not None:
            return f"\\x{{{code}}}"
        if escaped is not None:
            return (_INSIDE if is_inside else _OUTSIDE).get(escaped, match[0])
        is_inside = bool(opened) or (is_inside and not closed)
        return match[0]

    return _TOKEN.sub(word, pattern)
