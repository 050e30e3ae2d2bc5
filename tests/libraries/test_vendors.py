"""How often the classifier is right on exceptions of vendors that it was not written for: see `vendors/`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from remand.classify import Classification, classify
from remand.rules.rule import NEVER
from tests.libraries.vendors import Labelled, Vendor
from tests.libraries.vendors.held import HELD
from tests.libraries.vendors.opened import OPENED

NOW = datetime(2026, 10, 1, tzinfo=UTC)
pytestmark = pytest.mark.filterwarnings("ignore")


def is_right_way(label: Labelled, found: Classification) -> bool:
    return label.is_retried == (found.policy != NEVER)


def judged(vendor: Vendor) -> list[tuple[Labelled, Classification]]:
    return [(label, classify(label.exc, now=NOW)) for label in vendor.make()]


def told(label: Labelled, found: Classification) -> str:
    return (
        f"{type(label.exc).__module__}.{type(label.exc).__qualname__} {label.why or str(label.exc)[:80]}: "
        f"{label.right} expected, {found.category}/{found.policy} by {found.rule}"
    )


@pytest.mark.parametrize("vendor", OPENED, ids=lambda one: one.name)
def test_a_vendor_of_the_open_part(vendor: Vendor, record_property: Callable[[str, object], None]) -> None:
    try:
        verdicts = judged(vendor)
    except ImportError as missing:
        pytest.skip(f"not installed: {vendor.name} ({missing.name})")
    record_property("cases", len(verdicts))
    assert [told(*one) for one in verdicts if not is_right_way(*one)] == []
    exact = sum(found.category in label.right.split() for label, found in verdicts)
    assert exact / len(verdicts) >= 0.9, [
        told(*one) for one in verdicts if one[1].category not in one[0].right
    ]


def test_the_held_part(record_property: Callable[[str, object], None]) -> None:
    """Not tuned on: misses are counted, never mended one by one."""
    verdicts = []
    missing = []
    for vendor in HELD:
        try:
            verdicts += judged(vendor)
        except ImportError:
            missing.append(vendor.name)
    if not verdicts:
        pytest.skip(f"not installed: {', '.join(missing)}")
    record_property("cases", len(verdicts))
    assert sum(is_right_way(*one) for one in verdicts) / len(verdicts) >= 0.95


def figures(vendors: list[Vendor], *, show: bool) -> str:
    """Return how often the way and the category were right, vendor by vendor."""
    lines, right, exact, count = [], 0, 0, 0
    for vendor in vendors:
        try:
            verdicts = judged(vendor)
        except ImportError as missing:
            lines.append(f"{vendor.name:24} not installed: {missing.name}")
            continue
        ways = sum(is_right_way(*one) for one in verdicts)
        kinds = sum(found.category in label.right.split() for label, found in verdicts)
        lines.append(
            f"{vendor.name:24}{len(verdicts):4}  way {ways / len(verdicts):.3f}"
            f"  category {kinds / len(verdicts):.3f}"
        )
        if show:
            lines += [f"    {told(*one)}" for one in verdicts if not is_right_way(*one)]
            lines += [
                f"    ({told(*one)})"
                for one in verdicts
                if is_right_way(*one) and one[1].category not in one[0].right.split()
            ]
        right, exact, count = right + ways, exact + kinds, count + len(verdicts)
    return "\n".join([*lines, f"{'all':24}{count:4}  way {right / count:.3f}  category {exact / count:.3f}"])


if __name__ == "__main__":
    print(figures(OPENED, show="--show" in sys.argv))
    print(figures(HELD, show=False))
