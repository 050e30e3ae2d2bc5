"""Array literals carry any text and come back as they went."""

from __future__ import annotations

from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remand_app.store.arrays import plain, texts
from remand_app.store.database import Database

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ODD = st.sampled_from(["", "NULL", "{}", '"', "\\", "a,b", " x ", "'", "%s"])
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FEW
@given(values=st.lists(st.none() | TEXT | ODD))
def test_texts_come_back(database: Database, values: list[str | None]) -> None:
    assert database.call("select %s::text[]", (texts(values),))[0][0] == values


def test_ids_and_numbers_come_back(database: Database) -> None:
    ids = [UUID(int=1), UUID(int=2)]
    row = database.call("select %s::uuid[], %s::smallint[]", (plain(ids), plain([1, None])))[0]
    assert list(row[0]) == ids
    assert row[1] == [1, None]
