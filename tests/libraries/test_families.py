"""Other exceptions of the same kinds, class by class of each library: see `families/`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from remand.classify import classify
from tests.libraries.cases import Case, Family, families, passes

NOW = datetime(2026, 10, 1, tzinfo=UTC)
# Forty libraries warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")


def told(case: Case) -> str:
    found = classify(case.exc, now=NOW)
    cls = type(case.exc)
    return (
        f"{cls.__module__}.{cls.__qualname__} {str(case.exc)[:90]!r} {case.why}: {case.expected} expected, "
        f"{found.category}/{found.policy} by {found.rule}"
    )


@pytest.mark.parametrize("family", families(), ids=lambda f: f"{f.library}-{f.make.__name__}")
def test_a_family(family: Family, record_property: Callable[[str, object], None]) -> None:
    try:
        cases = list(family.make())
    except ImportError as missing:
        pytest.skip(f"not installed: {family.library} ({missing.name})")
    record_property("cases", len(cases))
    verdicts = [(case, classify(case.exc, now=NOW)) for case in cases]
    misses = [told(case) for case, found in verdicts if not passes(case, found)]
    assert cases
    assert misses == []


def test_the_list_is_long_enough_to_mean_something() -> None:
    assert len(families()) >= 50
