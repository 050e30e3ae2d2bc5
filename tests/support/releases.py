"""The release before this one: its code, and a database that it made, to upgrade from.

`tests/releases/<revision>/`: `code.tar.xz`, and `database.sql.xz` as `tests/releases/make.py` wrote it.
"""

from __future__ import annotations

import lzma
import re
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg2

RELEASES = Path(__file__).parents[1] / "releases"
CLIENT = RELEASES / "client.py"
APP = "workers"
"""What Celery is told to start of that release."""
_INSTANT = re.compile(r"'(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\+00'")
_AGE = timedelta(minutes=1)
"""How long ago the database was left: its workers are gone by then."""


def unpack(revision: str, folder: Path) -> Path:
    """Unpack the code of a release into a folder; return it."""
    with tarfile.open(RELEASES / revision / "code.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def environment(code: Path) -> Mapping[str, str]:
    """Return what makes Python prefer the code of a release to ours."""
    return {"PYTHONPATH": str(code), "REMAND_TEMPLATES": str(code / "tests/support/templates.yaml")}


def restore(revision: str, url: str) -> None:
    """Make the database of a release, as if it had been left a minute ago."""
    text = lzma.decompress((RELEASES / revision / "database.sql.xz").read_bytes()).decode()
    made_at = datetime.fromisoformat(text.splitlines()[0].removeprefix("-- made at "))
    later = datetime.now(UTC) - _AGE - made_at
    connection = psycopg2.connect(url)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(_INSTANT.sub(lambda match: _moved(match[1], later), text))
    finally:
        connection.close()


def _moved(written: str, later: timedelta) -> str:
    instant = datetime.fromisoformat(written + "+00:00")
    # Where partitions begin and end.
    is_bound = (instant.day, instant.hour, instant.minute, instant.second, instant.microsecond) == (
        1,
        0,
        0,
        0,
        0,
    )
    return f"'{instant if is_bound else instant + later}'"
