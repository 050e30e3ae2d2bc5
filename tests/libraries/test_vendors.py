"""How often the classifier is right on exceptions of vendors that it was not written for: see `vendors/`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from remand.classify import Classification, classify
from remand.rules.rule import NEVER
from tests.libraries.vendors import Labelled, Vendor
from tests.libraries.vendors.held import HELD
from tests.libraries.vendors.opened import OPENED
from tests.libraries.vendors.stand_ins import vendors

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
    assert_rate(verdicts, 0.92)


@pytest.mark.parametrize(("part", "least"), [(OPENED, 0.97), (HELD, 0.92)], ids=["open", "held"])
def test_a_part(part: list[Vendor], least: float) -> None:
    """What is held out is not tuned on: its misses are counted, never mended one by one."""
    verdicts = []
    for vendor in part:
        with contextlib.suppress(ImportError):
            verdicts += judged(vendor)
    if not verdicts:
        pytest.skip("none of the libraries is installed")
    assert_rate(verdicts, least)


def assert_rate(verdicts: list[tuple[Labelled, Classification]], least: float) -> None:
    missed = [told(*one) for one in verdicts if not is_right_way(*one)]
    assert 1 - len(missed) / len(verdicts) >= least, missed


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
    files = [name for name in sys.argv[1:] if name.endswith(".txt")]
    for file in files:
        print(figures(vendors(file), show="--show" in sys.argv))
    if not files:
        print(figures(OPENED, show="--show" in sys.argv))
        print(figures(HELD, show=False))
