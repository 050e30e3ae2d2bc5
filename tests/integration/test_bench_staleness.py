"""The benchmark of staleness at a small size: it takes out what it says, and tells its figures."""

from __future__ import annotations

import pytest

from remand_app.store.database import Database
from tests.benchmarks.staleness import measure

pytestmark = pytest.mark.once


def test_it_measures_what_it_says(raw_database: Database) -> None:
    figures = measure(raw_database, 300, 25)

    assert set(figures) == {"stale_s", "idle_sweep_ms"}
    assert all(figure > 0 for figure in figures.values())
    assert raw_database.call("select count(*) from remand.dead_letters") == [(25,)]
