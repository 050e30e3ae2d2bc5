"""What no test says by itself: how many real exceptions were judged, and of which libraries none."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    here = "tests/libraries/"
    passed = [r for r in terminalreporter.stats.get("passed", []) if here in r.nodeid and r.when == "call"]
    failed = [r for r in terminalreporter.stats.get("failed", []) if here in r.nodeid]
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if here in r.nodeid]
    cases = sum(dict(r.user_properties).get("cases", 0) for r in (*passed, *failed))
    rows = sum("test_a_row_as_its_library_makes_it" in r.nodeid for r in (*passed, *failed))
    terminalreporter.section("real exceptions")
    terminalreporter.write_line(
        f"{rows} rows of the corpus and {cases} other cases judged, {len(failed)} tests failed"
    )
    terminalreporter.write_line(f"{len(skipped)} skipped")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"  {report.nodeid.rpartition('::')[2]}: {reason}")
