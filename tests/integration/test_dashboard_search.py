from __future__ import annotations

import httpx
import pytest

from remand import PermanentError
from remand_app.domain.access import Permission, Role
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.engine import redrive
from remand_app.engine.operate import Who
from remand_app.engine.operate.breakers import open_breaker
from tests.support.engine import Harness
from tests.support.shapes import always, shape
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


@pytest.mark.parametrize("length", [36, 12], ids=["whole", "end"])
def test_what_is_not_a_workflow_is_found_by_its_id_and_shown_at_once(
    web: Web, viewer: httpx.Client, length: int
) -> None:
    site = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    site.publish(shape("one", {"a": ()}))
    site.play(a=always(PermanentError("no")))
    dead = site.submit("t/one")
    site.run_until_quiet()
    letter = site.open_letter(dead)
    planned = redrive.plan(site.engine, LetterFilter(), Who("ann", "x"), redrive.Options(), everything=True)
    worker = site.worker.id

    for one, address in (
        (letter.id, f"/dlq/letters/{letter.id}"),
        (letter.group_id, f"/dlq/groups/{letter.group_id}"),
        (planned.redrive.id, f"/redrives/{planned.redrive.id}"),
        (worker, "/workers"),
    ):
        answer = viewer.get("/workflows", params={"q": str(one)[-length:]})
        assert (answer.status_code, answer.headers.get("location")) == (303, address)
        page = web.program(Role.VIEWER, scopes=[Permission.WORKFLOWS_READ]).get(
            "/workflows", params={"q": str(one)}
        )
        assert page.status_code == 200, "what may not be seen is not found"


def test_names_are_found_and_several_hits_are_listed(web: Web, viewer: httpx.Client) -> None:
    site = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    site.publish(shape("one", {"a": ()}))
    site.submit("t/one")
    open_breaker(site.engine, "payments-api", by="ann", reason=None)
    open_breaker(site.engine, "steps", by="ann", reason=None)

    for typed, address in (("payments-api", "/breakers"), ("t/one:1", "/templates/t/one/1")):
        answer = viewer.get("/workflows", params={"q": typed})
        assert (answer.status_code, answer.headers.get("location")) == (303, address)
    both = viewer.get("/workflows", params={"q": "steps"})
    assert both.status_code == 200
    assert 'href="/breakers"' in both.text
    assert "queue <span" in both.text
