"""`make bench-archive` at a small size: it runs, and its last line is what it promises."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks import archive

pytestmark = pytest.mark.once


def test_its_last_line_has_the_figures(empty_database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    archive.main(["--workflows", "300", "--batched", "200", "--stragglers", "5", "--url", empty_database_url])

    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"lock_ms", "total_s", "batch_rows_per_s"} <= figures.keys()
    assert all(figures[name] > 0 for name in ("lock_ms", "total_s", "batch_rows_per_s"))
