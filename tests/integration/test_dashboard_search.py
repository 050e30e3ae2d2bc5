from __future__ import annotations

import httpx
import pytest

from app.domain.access import Role
from tests.support.engine import Harness
from tests.support.shapes import shape
from tests.support.web import Web


@pytest.fixture
def viewer(web: Web) -> httpx.Client:
    return web.browser(Role.VIEWER)


def test_the_beginning_that_many_ids_have_lists_all_of_them(web: Web, viewer: httpx.Client) -> None:
    site = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    site.publish(shape("one", {"a": ()}))
    ids = [str(one) for one in site.submit_many("t/one", range(3))]

    answer = viewer.get("/workflows", params={"q": ids[0][:8].upper()})

    assert answer.status_code == 200
    assert all(f'data-item="{one}"' in answer.text for one in ids)


@pytest.mark.parametrize("typed", ["feed", "cafe-", "%", "'", "\\", "input.", "tag:", "x" * 5000])
def test_whatever_is_typed_is_answered(web: Web, viewer: httpx.Client, typed: str) -> None:
    answer = viewer.get("/workflows", params={"q": typed})

    assert answer.status_code == 200
    assert "No such workflows" in answer.text
