"""What tells of more than one area leaves out those that a token has no scope for."""

from __future__ import annotations

from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.access import Permission, Role
from remand_app.engine.operate import breakers
from tests.support.engine import Harness
from tests.support.shapes import always, shape
from tests.support.web import Web

pytestmark = pytest.mark.once

WHY = "the bank declined the card"
READS = [one for one in Permission if one.endswith(":read")]
OF_THE_OVERVIEW = {
    Permission.LETTERS_READ: (WHY, "dead letters open", "Dead letters by reason", "Dead queues</h2>"),
    Permission.QUEUES_READ: ("steps ready", "workers alive", "<th>Queue</th>"),
    Permission.BREAKERS_READ: ("breakers hold work back",),
}


@pytest.fixture
def dead(web: Web) -> UUID:
    site = Harness(web.database, clock=web.clock, settings=web.runtime.settings)
    site.publish(shape("order", {"a": ()}))
    site.play(a=always(PermanentError(WHY)))
    workflow = site.submit("t/order", {})
    site.run_until_quiet()
    breakers.open_breaker(web.engine, "bank", by="ada", reason="maintenance", via="cli")
    return workflow


@pytest.mark.parametrize("left_out", list(OF_THE_OVERVIEW))
def test_the_overview_leaves_out_what_a_token_may_not_see(web: Web, dead: UUID, left_out: Permission) -> None:
    scopes = [one for one in READS if one is not left_out]

    page = web.program(Role.ADMIN, scopes=scopes).get("/").text

    for area, told in OF_THE_OVERVIEW.items():
        for text in told:
            assert (text in page) == (area is not left_out), text


@pytest.mark.parametrize("sees_letters", [True, False])
def test_a_workflow_tells_of_its_dead_letter_to_who_may_see_those(
    web: Web, dead: UUID, sees_letters: bool
) -> None:
    letters = [Permission.LETTERS_READ] if sees_letters else []
    program = web.program(Role.VIEWER, scopes=[Permission.WORKFLOWS_READ, *letters])

    answer = program.get(f"/api/v1/workflows/{dead}").json()
    page = program.get(f"/workflows/{dead}").text

    assert (answer["dead_letter"] is not None) == sees_letters
    assert ("A dead letter is open" in page) == ("/dlq/letters/" in page) == sees_letters
