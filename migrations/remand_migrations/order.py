"""The order of revisions, read off the files' names: Alembic costs more than all else a command needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

VERSION_TABLE = "schema_version"
VERSIONS = Path(__file__).parent / "versions"


@cache
def revisions(places: tuple[Path, ...] = (VERSIONS,)) -> tuple[str, ...]:
    """Return the revisions in these folders, oldest first."""
    names = (path.name.partition("_")[0] for place in places for path in place.glob("[0-9]*.py"))
    return tuple(sorted(names, key=int))


def is_before(one: str | None, other: str | None) -> bool:
    """Return whether one revision comes before another; None: no schema, before all."""
    return (0 if one is None else int(one)) < (0 if other is None else int(other))


def way(known: Sequence[str], before: str | None, target: str | None) -> list[str]:
    """Return the revisions to run from one to the other; None: no schema. Going back they are undone."""
    if is_before(target, before):
        return [name for name in reversed(known) if is_before(target, name) and not is_before(before, name)]
    return [name for name in known if is_before(before, name) and not is_before(target, name)]
