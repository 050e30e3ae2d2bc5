"""Own the limits of texts from people and programs: storable and of bounded length, in every interface."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from remand_app.domain.errors import TextInvalid
from remand_app.domain.jsonvalue import first_problem

MAX_NAME: Final = 1_000
"""Characters of a name or of who decides."""
MAX_PROSE: Final = 20_000
"""Characters of a reason or a note."""


def check_text(text: str, what: str, *, longest: int = MAX_NAME) -> str:
    """Return the text. `what` names it in the error.

    Raises:
        TextInvalid: it holds NUL or a lone surrogate, or is too long.
    """
    problem = first_problem(text)
    if problem is not None:
        raise TextInvalid(f"the {what} {problem[1]}")
    if len(text) > longest:
        raise TextInvalid(f"the {what} has {len(text):,} characters", hint=f"at most {longest:,}")
    return text


def check_arguments(arguments: Mapping[str, Any], *, documents: Collection[str] = ()) -> None:
    """Check every text among a call's arguments, lists of texts included, as every interface does first.

    `documents` name those that are JSON or a definition: these have limits of their own.

    Raises:
        TextInvalid: one holds NUL or a lone surrogate, or is longer than any text may be.
    """
    for name, value in arguments.items():
        if name not in documents:
            for text in _texts(value):
                check_text(text, name.replace("_", " "), longest=MAX_PROSE)


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    return [text for text in value if isinstance(text, str)] if isinstance(value, (list, tuple)) else ()
