"""Every row of the corpus as its real library makes it; without the library the row is skipped by name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from remand.classify import classify
from tests.libraries.rebuild import rebuild
from tests.support.lookalikes import accepted, corpus_rows

ROWS = corpus_rows()
NOW = datetime(2026, 10, 1, tzinfo=UTC)
# Forty libraries warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")


def name_of(row: dict[str, str]) -> str:
    return f"{ROWS.index(row) + 2:03}-{row['class'].rpartition('.')[2]}"


def test_no_row_is_left_out() -> None:
    assert len(ROWS) == 216


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_a_row_as_its_library_makes_it(row: dict[str, str]) -> None:
    try:
        exc = rebuild(row)
    except ImportError as missing:
        pytest.skip(f"not installed: {row['library']} ({missing.name})")
    if row["library"] != "custom":
        assert type(exc).__name__ == row["class"].rpartition(".")[2]
    found = classify(exc, now=NOW)
    assert (found.category, found.policy) in accepted(row), f"{found.rule}: {found.explanation}"
    if row["retry_after"].isdigit():
        assert found.retry_after is not None
        assert found.retry_after.total_seconds() == int(row["retry_after"])
