from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "app/remand_app/beat_schedule.py"


def test_the_beat_schedule_is_data_and_knows_nothing_of_the_layers_below() -> None:
    tree = ast.parse(SOURCE.read_text())
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else []
        )
    }  # fmt: skip

    assert imported.isdisjoint({"celery", "kombu", "sqlalchemy", "psycopg2", "remand_workers"})
    assert not any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(tree))
