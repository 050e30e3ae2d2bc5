"""Hold alerts and board against the catalogue of metrics, the sweeps and the page that explains them."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
import yaml

from remand_app.beat_schedule import BEAT_SCHEDULE
from remand_app.telemetry.metrics import METRICS
from tests.contract.test_docs import anchors
from tests.support.prometheus import ROOT, RULES, names, needs, queries

FOLDER = RULES.parent
PAGE = ROOT / "docs/operations/metrics-and-alerts.md"
ALERTS: list[dict[str, Any]] = [
    rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
]
OF_THE_FIRST_PLAN = {
    "DLQSizeHigh", "StalenessDetectionFailing", "ArchivalFailing", "PartitionCreationFailed",
    "HighStaleTaskRate",
}  # fmt: skip
each_alert = pytest.mark.parametrize("alert", [pytest.param(one, id=one["alert"]) for one in ALERTS])


def test_the_alerts_of_the_first_plan_are_there() -> None:
    assert {one["alert"] for one in ALERTS} >= OF_THE_FIRST_PLAN


@each_alert
def test_an_alert_says_what_it_means_and_leads_to_what_to_do(alert: dict[str, Any]) -> None:
    assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
    assert alert["labels"]["severity"] in ("warning", "critical")
    path, _, anchor = alert["annotations"]["runbook_url"].partition("#")
    assert ROOT / path == PAGE
    assert anchor == alert["alert"].lower()
    assert anchor in anchors(PAGE)


def test_the_page_explains_no_alert_that_is_not_there() -> None:
    explained = re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert explained == [one["alert"] for one in ALERTS]


@pytest.mark.parametrize(("where", "query"), [*((one["alert"], one["expr"]) for one in ALERTS), *queries()])
def test_a_query_reads_metrics_and_sweeps_that_exist(where: str, query: str) -> None:
    assert names(query) <= set(METRICS), where
    assert set(re.findall(r'sweep="(\w+)"', query)) <= set(BEAT_SCHEDULE)
    assert names(query) or "up{" in query


def test_the_page_names_metrics_that_exist() -> None:
    text = PAGE.read_text()
    assert names(text) <= set(METRICS)


def test_every_metric_of_the_site_is_on_the_board_or_left_out_for_a_reason() -> None:
    shown = set().union(*(names(query) for _, query in queries()))
    left_out = {
        "remand_info",  # is told by the workers' versions
        # Rules use them, or what the board shows instead.
        "remand_sweep_interval_seconds", "remand_sweep_runs_total", "remand_sweep_failures_total",
        "remand_partitions_created_total", "remand_partition_creation_failures_total",
        "remand_partitions_ahead",
    }  # fmt: skip
    assert set(METRICS) - shown == left_out


def test_every_alert_is_tested_to_fire_and_to_keep_quiet() -> None:
    tests = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]
    checks = [check for test in tests for check in test["alert_rule_test"]]
    wanted = {one["alert"] for one in ALERTS}
    assert {check["alertname"] for check in checks if check.get("exp_alerts")} == wanted
    assert {check["alertname"] for check in checks if not check.get("exp_alerts")} == wanted


@pytest.mark.parametrize(
    "words",
    [
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
        ("check", "config", "--syntax-only", "prometheus.yml"),
        ("check", "config", "--syntax-only", "compose.yml"),
    ],
    ids=" ".join,
)
def test_promtool_agrees(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [needs("promtool"), *words], cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
