"""A real Prometheus scrapes a real site, configured as the example is; the board asks it. Source: E5."""

from __future__ import annotations

from math import isnan
from typing import Any

import httpx
import pytest
import yaml

from remand_app.embedded.stack import free_port
from remand_app.engine.operate import Who, give_up_letter, requeue_letter
from remand_app.engine.operate.breakers import open_breaker
from remand_app.engine.pauses import pause_queue
from tests.support.letters import list_letters
from tests.support.prometheus import RULES, needs, queries
from tests.support.site import SUPPORT, Site
from tests.support.waiting import eventually

pytestmark = pytest.mark.once

ANN = Who("ann", "looked into")
SCRAPE = {"scrape_interval": "1s", "evaluation_interval": "1s"}
COMPLETE = 'sum(remand_step_duration_seconds_count{outcome="complete"})'
EMPTY = {"Redrives under way: {{state}}", "Age of what went stale, 95 of 100: {{why}}"}
"""What a site like this one has nothing of."""


class Watched:
    """A site that has been through something, and the Prometheus that saw it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.ports = {name: free_port() for name in ("prometheus", "server", "steps", "support")}
        for name, queues in (("steps", ["steps"]), ("support", SUPPORT)):
            site.start_worker(name, queues, env={"REMAND_METRICS_PORT": str(self.ports[name])})
        site.start_beat()
        site.start("server", site.remand("serve", "--port", str(self.ports["server"])))
        site.start("prometheus", self._command())
        site.ready("steps", "support")

    def _command(self) -> list[str]:
        folder = self.site.folder
        config = yaml.safe_load((RULES.parent / "prometheus.yml").read_text())
        config["global"] = SCRAPE
        config["rule_files"] = [str(RULES)]
        server, workers = config["scrape_configs"]
        token = self.site.cli("token", "create", "prometheus", "--scope", "metrics:read")["token"]
        (folder / "remand-token").write_text(token)
        _point(server, self.ports["server"])
        _point(workers, self.ports["steps"], self.ports["support"])
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        return [
            needs("prometheus"),
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}",
        ]

    def ask(self, path: str, **asked: str) -> Any:
        url = f"http://127.0.0.1:{self.ports['prometheus']}/api/v1/{path}"
        try:
            answered = httpx.get(url, params=asked, trust_env=False)
        except httpx.TransportError as error:
            raise AssertionError(f"Prometheus does not answer: {error}") from error
        assert answered.status_code != httpx.codes.SERVICE_UNAVAILABLE, "Prometheus is still starting"
        answer = answered.json()
        assert answer["status"] == "success", f"{asked}: {answer}"
        return answer["data"]

    def value(self, query: str) -> list[Any]:
        found: list[Any] = self.ask("query", query=query.replace("$__rate_interval", "1m"))["result"]
        return found

    def numbers(self, query: str) -> list[float]:
        return [float(one["value"][1]) for one in self.value(query)]

    def live_through_something(self) -> None:
        """Work, retries, a death, dead letters that are sent back and given up, a pause, an open breaker."""
        site = self.site
        eventually(lambda: {one["value"][1] for one in self.value("up")} == {"1"}, timeout=60)
        site.submit_many(20)
        # A process that is killed takes what it has not told yet along.
        eventually(lambda: self.numbers(COMPLETE) == [20], timeout=60)
        site.submit(fail_on=[1], category="network")
        eventually(lambda: self.numbers(COMPLETE) == [21], timeout=60)
        site.submit(die_on=[1])
        dead = [site.submit(give_up_on=[1]) for _ in range(3)]
        site.settle()
        letters = [list_letters(site.database, workflow_id=one)[0].id for one in dead]
        give_up_letter(site.engine, letters[0], ANN)
        requeue_letter(site.engine, letters[1], ANN)
        site.settle()
        pause_queue(site.engine, "retry.linear", by="ann")
        open_breaker(site.engine, "ledger", by="ann")
        site.submit("site/guarded")

    def is_empty(self, query: str) -> bool:
        return all(map(isnan, self.numbers(query)))


def _point(scraped: dict[str, Any], *ports: int) -> None:
    scraped["static_configs"] = [{"targets": [f"127.0.0.1:{port}" for port in ports]}]


@pytest.fixture(scope="module")
def watched(request: pytest.FixtureRequest) -> Watched:
    needs("prometheus")
    watched = Watched(request.getfixturevalue("quiet_site"))
    watched.live_through_something()
    return watched


def test_the_example_scrapes_server_and_workers(watched: Watched) -> None:
    up = {(one["metric"]["job"], one["value"][1]) for one in watched.value("up")}

    assert up == {("remand", "1"), ("remand-workers", "1")}


def test_totals_agree_with_what_happened(watched: Watched) -> None:
    def so() -> bool:
        counted = {
            query: watched.numbers(query)
            for query in (
                COMPLETE,
                "sum(remand_dlq_entries_total)",
                "sum(remand_dlq_permanent_failures_total)",
                "sum(remand_dlq_requeues_total)",
                "sum(remand_lost_attempts_total)",
            )
        }
        assert list(counted.values()) == [[23], [3], [1], [1], [1]], counted
        return True

    eventually(so, timeout=30)


def test_every_query_of_the_board_finds_something(watched: Watched) -> None:
    def none_left() -> bool:
        # Rates are of the last minute: something has to be going on.
        watched.site.submit()
        watched.site.submit(fail_on=[1])
        empty = {title for title, query in queries() if watched.is_empty(query)}
        assert empty <= EMPTY, f"nothing is found by: {sorted(empty - EMPTY)}"
        return True

    eventually(none_left, timeout=90)


def test_every_rule_can_be_evaluated(watched: Watched) -> None:
    def all_ran() -> list[Any]:
        rules = [rule for group in watched.ask("rules")["groups"] for rule in group["rules"]]
        assert {rule["health"] for rule in rules} == {"ok"}, [rule.get("lastError") for rule in rules]
        return rules

    rules = eventually(all_ran, timeout=60)
    assert len(rules) == RULES.read_text().count("- alert:")
    # An open breaker has to stay open for a while before it rings, but it is seen at once.
    [breaker] = [rule for rule in rules if rule["name"] == "BreakerOpen"]
    assert [one["labels"]["dependency"] for one in breaker["alerts"]] == ["ledger"]
