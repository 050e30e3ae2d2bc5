"""Revisions that a later release could bring, on top of ours: `tests/rehearsed/`."""

from __future__ import annotations

from pathlib import Path

from remand_migrations.order import VERSIONS

PLACES = (VERSIONS, Path(__file__).parents[1] / "rehearsed" / "versions")
COLUMNS = "9001"
INDEX = "9002"
