"""The texts of functions and views: as revisions have them in `sql/<revision>/`, as the store has them now.

`python -m remand_migrations.texts` copies what differs from every released revision into the open one, the
newest; `released.sha256` holds the files of those that users may have run.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
SQL = _HERE / "sql"
RELEASED = _HERE / "released.sha256"
FUNCTIONS = _HERE.parents[1] / "app" / "remand_app" / "store" / "sql"
BY_HAND = frozenset({"tables", "down", "transition_rule", "triggers"})


def number(folder: Path) -> int:
    """Return where the revision of a folder stands in the order of all."""
    return int(folder.name)


def texts_of(folder: Path) -> dict[str, str]:
    """Return the functions and views of a folder by name, none if there is no such folder."""
    return {path.stem: path.read_text() for path in folder.glob("*.sql") if path.stem not in BY_HAND}


def newest_texts(before: int) -> dict[str, str]:
    """Return what each function and view was before a revision, by name."""
    folders = sorted((folder for folder in SQL.iterdir() if folder.name.isdigit()), key=number)
    return {
        name: text for folder in folders if number(folder) < before for name, text in texts_of(folder).items()
    }


def open_folder() -> Path | None:
    """Return the folder of the revision that still changes, None if all are released."""
    newest = max(_HERE.glob("versions/[0-9]*.py"), key=lambda path: int(path.stem.partition("_")[0]))
    return None if newest.name in RELEASED.read_text() else SQL / newest.stem.partition("_")[0]


def drafted() -> dict[str, str]:
    """Return what of the store's functions and views no released revision has, by name."""
    folder = open_folder()
    before = max(map(number, SQL.iterdir())) + 1 if folder is None else number(folder)
    released = newest_texts(before)
    return {name: text for name, text in sorted(texts_of(FUNCTIONS).items()) if released.get(name) != text}


def main() -> None:
    """Make the copies of the open revision what they should be."""
    copies, folder = drafted(), open_folder()
    if folder is None:
        if copies:
            raise SystemExit("all revisions are released: add one first, see docs/guides/add-a-migration.md")
        return
    folder.mkdir(exist_ok=True)
    for name in texts_of(folder).keys() - copies.keys():
        (folder / f"{name}.sql").unlink()
    for name, text in copies.items():
        (folder / f"{name}.sql").write_text(text)


if __name__ == "__main__":
    main()
