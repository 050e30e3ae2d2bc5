from __future__ import annotations

import re
from uuid import UUID

import httpx
import pytest

from remand_app.domain.access import Role
from tests.support.engine import Harness
from tests.support.shapes import shape
from tests.support.web import Web

pytestmark = pytest.mark.once


@pytest.fixture
def viewer(web: Web) -> httpx.Client:
    return web.browser(Role.VIEWER)


@pytest.fixture
def wide(web: Web) -> UUID:
    """A workflow of 450 steps."""
    site = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    site.publish(shape("wide", {f"s{number:04}": () for number in range(450)}))
    return site.submit("t/wide")


def rows(page: str) -> list[str]:
    return re.findall(r'data-item="(s\d+)"', page)


def test_the_steps_of_a_large_workflow_are_shown_page_by_page(wide: UUID, viewer: httpx.Client) -> None:
    where, seen = f"/workflows/{wide}?step=s0007", []
    for _ in range(3):
        page = viewer.get(where).text
        seen += rows(page)
        following = re.findall(r'rel="next" href="([^"#]*)#steps"', page)
        where = following[0].replace("&amp;", "&") if following else ""

    assert seen == [f"s{number:04}" for number in range(450)]
    assert where == ""


@pytest.mark.parametrize("place", ["x", "-1", "9" * 30, "٣"])
def test_a_place_that_is_none_is_the_first(wide: UUID, viewer: httpx.Client, place: str) -> None:
    answer = viewer.get(f"/workflows/{wide}", params={"from": place})

    assert answer.status_code == 200
    assert rows(answer.text)[0] == "s0000"
