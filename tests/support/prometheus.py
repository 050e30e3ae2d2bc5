"""The Prometheus of this machine, if it has one."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RULES = ROOT / "ops/prometheus/alerts.yml"
BOARD = ROOT / "ops/grafana/remand.json"
_NAME = re.compile(r"\bremand_[a-z_]+")


def needs(program: str) -> str:
    """Return where `prometheus` or `promtool` is; skip the test, by that name, where it is not."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def names(query: str) -> set[str]:
    """Return the metrics that a query reads, without what histograms append."""
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in _NAME.findall(query)}


def queries() -> list[tuple[str, str]]:
    """Return title and query of everything on the board."""
    board: dict[str, Any] = json.loads(BOARD.read_text())
    return [
        (f"{panel['title']}: {target['legendFormat']}", target["expr"])
        for panel in board["panels"]
        for target in panel.get("targets", ())
    ]
