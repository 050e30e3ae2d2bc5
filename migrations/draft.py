"""Write migrations/sql/0001 anew from the models and the functions of the store.

For as long as that revision is in nobody's database; later changes are revisions of their own.
"""

from __future__ import annotations

import re
import shutil
from itertools import groupby
from pathlib import Path

import sqlalchemy as sa

from app.domain.transitions import RULES
from app.store.tables import metadata

HERE = Path(__file__).parent / "sql" / "0001"
FUNCTIONS = Path(__file__).parent.parent / "app" / "store" / "sql"
_BY_HAND = "-- By hand from here on"


def main() -> None:
    """Write tables.sql up to what was written by hand, transition_rule.sql, and copies of all functions."""
    for name, text in drafted().items():
        (HERE / name).write_text(text)
    for path in sorted(FUNCTIONS.glob("*.sql")):
        shutil.copy(path, HERE / path.name)


def drafted() -> dict[str, str]:
    """Return what is made of the models and rules, by the name of its file."""
    by_hand = (HERE / "tables.sql").read_text()
    by_hand = by_hand[by_hand.index(_BY_HAND) :]
    made: list[str] = []

    def note(statement: sa.Executable, *_: object) -> None:
        made.append(_ordered(str(statement.compile(dialect=engine.dialect)).strip()))  # type: ignore[attr-defined]

    engine = sa.create_mock_engine("postgresql://", note)
    metadata.create_all(engine, checkfirst=False)
    text = ";\n\n".join(_in_order(made)).replace("\t", "  ").replace(", \n", ",\n").replace(" \n", "\n")
    rows = ",\n".join(f"  ('{r.kind}', '{r.from_state}', '{r.event}', '{r.to_state}')" for r in RULES)
    rules = f"INSERT INTO remand.transition_rule (kind, from_state, event, to_state) VALUES\n{rows};\n"
    return {"tables.sql": f"{text};\n\n{by_hand}", "transition_rule.sql": rules}


def _ordered(statement: str) -> str:
    """Return a table with its constraints by name: those of a twin come in the order of a set."""
    lines = statement.splitlines()
    places = [place for place, line in enumerate(lines) if line.lstrip().startswith("CONSTRAINT ")]
    if statement.startswith("CREATE TABLE"):
        for place, text in zip(places, sorted(lines[one].rstrip(", ") for one in places), strict=True):
            lines[place] = text + ("," if lines[place].rstrip().endswith(",") else "")
    return "\n".join(lines)


def _in_order(statements: list[str]) -> list[str]:
    """Return the statements with the indexes of each table by name: the models keep them in a set."""
    kept: list[str] = []
    for is_index, group in groupby(statements, key=_is_index):
        run = list(group)
        kept += sorted(run) if is_index else run
    return kept


def _is_index(statement: str) -> bool:
    return re.match(r"CREATE (UNIQUE )?INDEX", statement) is not None


if __name__ == "__main__":
    main()
