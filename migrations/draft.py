"""Copy the functions of the store that differ from every released revision into the unreleased one.

Tables are changed by hand, in `tables.sql` of that revision and its reverse `down.sql`; a test holds the
models to them.
"""

from __future__ import annotations

from pathlib import Path

SQL = Path(__file__).parent / "sql"
UNRELEASED = SQL / "0002"
FUNCTIONS = Path(__file__).parent.parent / "app" / "store" / "sql"
BY_HAND = {"tables.sql", "down.sql", "transition_rule.sql", "triggers.sql"}


def main() -> None:
    """Make the copies of the unreleased revision what they should be."""
    copies = drafted()
    for path in UNRELEASED.glob("*.sql"):
        if path.name not in BY_HAND | copies.keys():
            path.unlink()
    for name, text in copies.items():
        (UNRELEASED / name).write_text(text)


def drafted() -> dict[str, str]:
    """Return the functions that are new or changed since the last release, by the name of their file."""
    released = released_functions()
    texts = {path.name: path.read_text() for path in sorted(FUNCTIONS.glob("*.sql"))}
    return {name: text for name, text in texts.items() if released.get(name) != text}


def released_functions() -> dict[str, str]:
    """Return the newest released text of each function, by the name of its file."""
    folders = sorted(path for path in SQL.iterdir() if path.is_dir() and path != UNRELEASED)
    return {
        path.name: path.read_text()
        for folder in folders
        for path in sorted(folder.glob("*.sql"))
        if path.name not in BY_HAND
    }


if __name__ == "__main__":
    main()
