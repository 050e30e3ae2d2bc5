"""Dead letters as lists show them, asked for in few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.store.database import Database
from remand_app.store.dead_letter_search import list_page
from remand_app.store.dead_letters import LetterRow


def list_letters(
    database: Database, *, template: str = "", limit: int = 50, **wanted: Any
) -> Sequence[LetterRow]:
    """Return letters, newest first: the open ones unless `statuses` says otherwise."""
    return list_page(database, LetterFilter.of_template(template, **wanted), limit=limit).items
