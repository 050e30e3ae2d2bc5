"""Rights of a role: what to say when one is missing, and the command that grants it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from remand_app.domain.errors import RightMissing
from remand_app.store.connect import address
from remand_app.store.driver_messages import said

_ALL_TABLES: Final = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA remand TO {role};"
_GRANTS: Final[Sequence[tuple[re.Pattern[str], str]]] = (
    (re.compile(r"for database"), "GRANT CREATE ON DATABASE {database} TO {role};"),
    (re.compile(r"for schema remand\b"), "GRANT USAGE ON SCHEMA remand TO {role};"),
    (re.compile(r"for (?:table|view|relation|materialized view)"), _ALL_TABLES),
    (re.compile(r"for sequence"), "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA remand TO {role};"),
    (re.compile(r"for function"), "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA remand TO {role};"),
    (re.compile(r"must be (?:the )?owner"), "GRANT OWNER_OF_REMAND TO {role};"),
)
"""The server's message, in English → the command its administrator has to run."""
_MANUAL: Final = "see docs/operations/servers.md#rights"
_PLAIN_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*")


def right_missing(url: str, error: BaseException) -> RightMissing:
    """Return our error for a right that the role of `url` lacks, with the command that grants it."""
    words = said(error)
    server = address(url)
    names = {"role": _quoted(server.user or "ROLE"), "database": _quoted(server.database or "DATABASE")}
    grant = next((sql.format(**names) for words_of, sql in _GRANTS if words_of.search(words)), None)
    return RightMissing(
        f"Postgres refuses the role {names['role']}: {words}",
        hint=f"{_MANUAL}; as a superuser or the owner: {grant}" if grant else _MANUAL,
        details={"grant": grant},
    )


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'
