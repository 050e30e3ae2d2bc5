"""From a failure that no rule knows to a rule, with real workers: counted by all of them, then classified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from remand_app.resources.unclassified import list_unclassified
from tests.support.site import PATIENCE_SECONDS, Site
from tests.support.site_fixtures import OpenSite
from tests.support.waiting import eventually

pytestmark = pytest.mark.once

SHOP = """
from remand import handler


class GateShut(Exception):
    pass


@handler("gate.open")
def open_gate(ctx):
    raise GateShut(f"gate {ctx.input} does not open")
"""
TEMPLATE = """
namespace: gate
name: open
version: "1"
retry: {max_attempts: 3, jitter: 0, exponential: {base_seconds: 0}}
steps:
  - {name: only, handler: gate.open}
"""
RULE = {"name": "gate-shut", "category": "permanent", "errors": "gate_shop.GateShut"}


def write(site: Site) -> dict[str, str]:
    """Write the shop and its template; return what its workers need to know."""
    (site.folder / "gate_shop.py").write_text(SHOP)
    (site.folder / "gate.yaml").write_text(TEMPLATE)
    return {"PYTHONPATH": str(site.folder), "REMAND_HANDLERS": "gate_shop"}


def rules(*given: dict[str, Any]) -> dict[str, str]:
    return {"REMAND_RULES": json.dumps(given)}


def rule_of_last(site: Site, workflow_id: UUID) -> str:
    failure = site.attempts(workflow_id)[-1].failure
    assert failure is not None
    return failure.classification.rule


def test_what_no_rule_knows_is_counted_by_all_processes_until_a_rule_is_written(open_site: OpenSite) -> None:
    site = open_site()
    env = write(site)
    site.cli("template", "publish", str(site.folder / "gate.yaml"))
    site.start_support()
    for name in ("east", "west"):
        site.start_worker(name, env=env)
    site.ready("support", "east", "west")

    ids = [site.submit("gate/open", number=number) for number in range(20)]
    site.settle()

    assert site.states(ids) == {"blocked_by_failures": 20}
    [found] = list_unclassified(site.database).items
    assert (found.error_class, found.handler, found.count) == ("gate_shop.GateShut", "gate.open", 60)
    assert len({one.attempt for id_ in ids for one in site.attempts(id_)}) == 3

    site.kill_workers()
    site.start_worker("north", env={**env, **rules(RULE)})
    site.ready("north")
    after = site.submit("gate/open", number=21)
    site.settle()

    assert rule_of_last(site, after) == "gate-shut"
    assert site.outcomes(after) == ["failed"]
    assert [one.count for one in list_unclassified(site.database).items] == [60]


def test_a_worker_does_not_start_with_rules_that_contradict_each_other(open_site: OpenSite) -> None:
    site = open_site()
    env = {**write(site), **rules(RULE, {**RULE, "name": "gate-jams", "category": "transient"})}

    worker = site.start_worker("east", env=env)

    eventually(lambda: worker.poll() is not None, timeout=PATIENCE_SECONDS, message="it goes on")
    told = site.log_path("east").read_text()
    assert worker.returncode == 3
    assert "CONFIG_INVALID" in told
    assert "rules 'gate-shut' and 'gate-jams' have the same conditions and say otherwise" in told


def test_the_command_line_says_what_is_wrong_with_rules(open_site: OpenSite, tmp_path: Path) -> None:
    site = open_site()
    env = write(site)
    misspelt = {**RULE, "errors": "gate_shop.GateShutt"}

    def told(command: str, *given: dict[str, Any], exits: int) -> list[tuple[str, str]]:
        answer = site.cli(*command.split(), env={**env, **rules(*given)}, exits=exits)
        found = answer["findings"]
        return [(one["level"], one["message"]) for one in found if one["subject"] == "rules"]

    assert told("config check", RULE, exits=0) == [("ok", "1 of your own")]
    [(level, message)] = told("config check", misspelt, exits=0)
    assert (level, "gate_shop.GateShutt is not known" in message) == ("warn", True)
    [(level, message)] = told("doctor", RULE, {**RULE, "errors": "gate_shop.Other"}, exits=3)
    assert (level, "two rules are named 'gate-shut'" in message) == ("fail", True)
    template = tmp_path / "wrong.yaml"
    template.write_text(f"{TEMPLATE}rules: [{json.dumps(misspelt)}]\n")
    answer = site.cli("template", "validate", str(template), env={**env, **rules(RULE)})
    doubled, unknown = sorted(answer["warnings"])
    assert "gate-shut is also one of the settings" in doubled
    assert "gate_shop.GateShutt is not known" in unknown
