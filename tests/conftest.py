"""Mark every test by the folder it lies in, so that `-m acceptance` and `tests/acceptance` mean the same."""

from __future__ import annotations

from pathlib import Path

import pytest

LEVELS = frozenset({"unit", "integration", "acceptance", "faults", "contract"})
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        level = item.path.relative_to(HERE).parts[0]
        if level in LEVELS:
            item.add_marker(level)
