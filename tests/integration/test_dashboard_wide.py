"""Workflows of many steps, and long names: what failed comes first, and nothing is pushed out."""

from __future__ import annotations

import re
from uuid import UUID

import httpx
import pytest

from remand import PermanentError
from remand_app.domain.access import Role
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.web import Web

pytestmark = pytest.mark.once
LONG = "a-step-whose-name-is-as-long-as-names-may-be-at-the-most"


@pytest.fixture
def viewer(web: Web) -> httpx.Client:
    return web.browser(Role.VIEWER)


@pytest.fixture
def wide(web: Web) -> UUID:
    """A hundred parts, of which the 77th has failed."""
    site = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    parts = {f"part-{number:03}": ("begin",) for number in range(100)}
    site.publish(shape("wide", {"begin": (), **parts, LONG: tuple(parts)}))
    site.play(**{"part-077": always(PermanentError("no such file"))})
    made = site.submit("t/wide")
    site.run_until_quiet()
    return made


def test_what_failed_is_named_first_with_a_link_to_it(wide: UUID, viewer: httpx.Client) -> None:
    page = viewer.get(f"/workflows/{wide}").text

    told = page[page.index('id="failed"') :].partition("</p>")[0]
    assert "1 step failed" in told
    assert f'href="/workflows/{wide}?step=part-077#step"' in told
    assert "no such file" in told
    assert page.index('id="failed"') < page.index("<svg")
    assert re.findall(r'<tr data-item="([^"]*)"', page)[0] == "part-077"


def test_steps_that_are_alike_are_one_box(wide: UUID, viewer: httpx.Client) -> None:
    page = viewer.get(f"/workflows/{wide}").text

    assert page.count('<g class="node') == 3
    assert 'aria-label="part × 100: 1 error, 99 complete"' in page


def test_the_steps_can_be_narrowed_to_a_state(wide: UUID, viewer: httpx.Client) -> None:
    page = viewer.get(f"/workflows/{wide}", params={"state": "error"}).text
    other = viewer.get(f"/workflows/{wide}", params={"state": "nonsense"}).text

    assert re.findall(r'<tr data-item="([^"]*)"', page) == ["part-077"]
    assert len(re.findall(r'<tr data-item="([^"]*)"', other)) == 102


def test_a_long_name_is_cut_in_the_middle_and_whole_in_its_title(wide: UUID, viewer: httpx.Client) -> None:
    page = viewer.get(f"/workflows/{wide}").text

    assert f'<span title="{LONG}">a-step-whose-name-is-as-…' in page
