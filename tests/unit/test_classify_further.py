"""How often the classifier is right on libraries that it was not written for: stand-ins, so none is needed.

`make test-libraries` asks real ones. What is kept back is counted and never mended one by one.
"""

from __future__ import annotations

import pytest

from tests.libraries.test_vendors import assert_rate, judged
from tests.libraries.vendors.stand_ins import vendors


@pytest.mark.parametrize(("file", "least"), [("further.txt", 0.97), ("fresh.txt", 0.93), ("kept.txt", 0.92)])
def test_retry_or_never(file: str, least: float) -> None:
    assert_rate([verdict for one in vendors(file) for verdict in judged(one)], least)
