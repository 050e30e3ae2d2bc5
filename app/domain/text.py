"""Own what a text must be that people or programs give us: storable and of bounded length, at every door."""

from __future__ import annotations

from typing import Final

from app.domain.errors import TextInvalid
from app.domain.jsonvalue import first_problem

MAX_NAME: Final = 1_000
"""Characters of a name or of who decides."""
MAX_PROSE: Final = 20_000
"""Characters of a reason or a note."""


def check_text(text: str, what: str, *, longest: int = MAX_NAME) -> str:
    """Return the text. `what` names it in the error.

    Raises:
        TextInvalid: it holds NUL or a lone surrogate, or is too long.
    """
    found = first_problem(text)
    if found is not None:
        raise TextInvalid(f"the {what} {found[1]}")
    if len(text) > longest:
        raise TextInvalid(f"the {what} has {len(text):,} characters", hint=f"at most {longest:,}")
    return text
