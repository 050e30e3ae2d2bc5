"""The reference of the views for people's own SQL: what their comments in the database say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import remand_app.store

_SQL = Path(remand_app.store.__file__).parent / "sql"
_COMMENT = re.compile(
    r"^comment on (view|column) remand\.v_\w+(?:\.(\w+))?\s+is '((?:[^']|'')*)';", re.MULTILINE
)
_ABOUT = (
    "# Views\n\n"
    "For your own SQL and BI tools: a stable interface. A column keeps its name, type, meaning and unit "
    "until a new major version. New columns and new values may come, at any place: name the columns that you "
    "want. Every other table and view of the schema `remand` may change with any version.\n\n"
    "[Your own SQL](../guides/own-sql.md) tells how to let somebody read them, with queries to begin from. "
    "Inputs, results and checkpoints are in none of them. Instants are `timestamptz`.\n"
)


def views() -> str:
    """Return the page: of each view its meaning, and a table of its columns in their order."""
    return "\n".join([_ABOUT, *(part for path in sorted(_SQL.glob("v_*.sql")) for part in _view(path))])


def _view(path: Path) -> Iterator[str]:
    told = [one.groups() for one in _COMMENT.finditer(path.read_text())]
    yield f"## remand.{path.stem}\n"
    yield from (f"{_plain(meaning)}\n" for kind, _, meaning in told if kind == "view")
    rows = "\n".join(
        f"| `{column}` | {_plain(meaning)} |" for kind, column, meaning in told if kind == "column"
    )
    yield f"| column | meaning |\n|---|---|\n{rows}\n"


def _plain(text: str) -> str:
    return text.replace("''", "'").replace("|", "\\|")
