"""No table grows for ever: each is pruned, partitioned by time, or says why not; and no prune scans."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from remand_app.config.retention import RetentionSettings
from remand_app.store.database import Database
from remand_app.store.pruning import PRUNED, STAYS, Prunable, batch_query
from remand_app.store.tables import metadata

TABLES = {
    table.name for table in metadata.sorted_tables if not table.dialect_options["postgresql"]["partition_by"]
}


def test_a_table_is_pruned_or_says_why_not() -> None:
    pruned = {one.table for one in PRUNED}

    assert pruned.isdisjoint(STAYS)
    assert TABLES - pruned - set(STAYS) == set()
    assert (pruned | set(STAYS)) - TABLES == set()


def test_what_is_set_keeps_something_and_what_is_not_is_kept_for_a_while() -> None:
    assert {one.kept_by for one in PRUNED if one.kept_by} == set(RetentionSettings.model_fields)
    assert all(one.kept_for for one in PRUNED if one.kept_by is None)


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for inner in plan.get("Plans", ()) for node in nodes(inner))]


@pytest.mark.parametrize("one", PRUNED, ids=lambda one: one.name)
def test_the_oldest_rows_are_found_by_an_index(one: Prunable, database: Database) -> None:
    query = batch_query(one).replace(":before", "%(before)s").replace(":limit", "%(limit)s")
    with database.cursor() as cursor:
        # The tables are empty here: a scan would be cheapest, and is not what is asked for.
        cursor.execute("set enable_seqscan = off; set enable_bitmapscan = off")
        cursor.execute(f"explain (format json) {query}", {"before": datetime.now(UTC), "limit": 10})
        [(plan,)] = cursor.fetchall()
        cursor.execute("reset all")

    found = nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
    kinds = {node["Node Type"] for node in found}
    scans = [node for node in found if node.get("Relation Name") == one.table]
    assert not kinds & {"Seq Scan", "Sort", "Incremental Sort"}
    assert all("Index" in node["Node Type"] for node in scans)
    assert scans
