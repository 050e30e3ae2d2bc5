"""A letter that others hold just now is dealt with later: a redrive never passes it over."""

from __future__ import annotations

from typing import Any

from remand_app.domain.errors import Busy
from remand_app.domain.redrive import RedriveVerb
from remand_app.engine.redrive import act
from remand_app.engine.sweeps.redrive import redrive as sweep
from tests.integration.test_api_redrives import ask, client, fail, harness, plan
from tests.support.invariants import check_invariants

__all__ = ["client", "harness"]


def test_a_busy_letter_waits_for_the_next_sweep(harness: Any, client: Any, monkeypatch: Any) -> None:
    fail(harness, 2)
    made = plan(client, selection={"template": "chain"}, verb="cancel", reason="not wanted")
    path = f"/redrives/{made['redrive']['id']}"
    ask(client, "PATCH", path, json={"action": "start"})

    def busy(*_: object) -> Any:
        raise Busy("others hold it")

    with monkeypatch.context() as held:
        held.setitem(act._SINGLE, RedriveVerb.CANCEL, (busy, act._SINGLE[RedriveVerb.CANCEL][1]))
        sweep(harness.engine)
    shown = ask(client, "GET", path)["redrive"]
    assert (shown["waiting"], shown["skipped"]) == (2, 0)
    sweep(harness.engine)
    shown = ask(client, "GET", path)["redrive"]
    assert (shown["state"], shown["succeeded"], shown["skipped"]) == ("finished", 2, 0)
    check_invariants(harness.database)
