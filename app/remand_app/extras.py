"""What the extras of the distribution bring, and what is said where one was not installed.

Loaded before any package of others: the client is installed without them.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final, Literal

from remand_app.domain.errors import ExtraMissing

Extra = Literal["server", "flower"]
PACKAGES: Final[dict[Extra, tuple[str, ...]]] = {
    "server": (
        "alembic", "argon2", "fastapi", "jinja2", "jsonschema", "prometheus_client", "psycopg2", "pydantic",
        "re2", "rich", "sqlalchemy", "structlog", "typer", "uuid_utils", "uvicorn", "yaml",
    ),
    "flower": ("flower",),
}  # fmt: skip
"""Some of what is imported from each; the extra brings the rest along."""


def require(extra: Extra, what: str) -> None:
    """Make sure that an extra is installed; `what` needs it.

    Raises:
        ExtraMissing: it is not.
    """
    missing = [name for name in PACKAGES[extra] if find_spec(name) is None]
    if missing:
        raise ExtraMissing(f"{what} needs {', '.join(missing)}", hint=f"pip install 'remand[{extra}]'")
