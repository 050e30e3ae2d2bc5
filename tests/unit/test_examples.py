"""The examples' handlers with hand-made contexts, against the real gateway process and the shipped files."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import pytest

from remand import PermanentError, RetryableError, StepContext
from remand.classify import UNCLASSIFIED, classify
from remand.handler import registry
from remand_app.domain.errors import InputInvalid
from remand_app.domain.template import load_paths, validate_input
from remand_examples.data_import import handlers as data_import
from remand_examples.outage import handlers as outage
from remand_examples.outage import ledger_client
from remand_examples.payments import gateway_client
from remand_examples.payments import handlers as payments
from remand_examples.payments.faults import FAULTS
from remand_examples.payments.ledger import KeyReused, Ledger
from remand_examples.scenarios import AIRPORTS, Scenario, all_scenarios, order_input

NAMESPACES = ("payments.", "data_import.", "outage.")
TEMPLATES = load_paths([Path(str(resources.files("remand_examples")))])
DATA_IMPORT = Path(str(resources.files("remand_examples.data_import")))


def context(step: str, data: Any, **parents: Any) -> StepContext:
    return StepContext(workflow_id="workflow-1", step=step, attempt=1, input=data, parents=parents)


def gateway_context(step: str, card: str, order_id: str) -> StepContext:
    parents = {"reserve": {"reservation": "r"}, "fraud_check": {"check": "c"}}
    data = order_input(order_id, card)
    return StepContext(workflow_id=order_id, step=step, attempt=1, input=data, parents=parents)


@pytest.fixture(scope="module")
def gateway_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [sys.executable, "-m", "remand_examples.payments.gateway", "--port", "0"]
    command += ["--state", str(tmp_path_factory.mktemp("gateway"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()
        assert process.wait(timeout=5) == 0


@pytest.fixture
def gateway(gateway_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAYMENTS_GATEWAY_URL", gateway_url)
    monkeypatch.setattr(gateway_client, "TIMEOUT_SECONDS", 0.3)


def charges_of(order_id: str) -> list[dict[str, Any]]:
    entries = gateway_client.get_ledger()["entries"]
    return [entry for entry in entries if entry["kind"] == "charge" and entry["order_id"] == order_id]


@pytest.mark.usefixtures("gateway")
def test_a_happy_order_goes_through_all_steps() -> None:
    order = order_input("happy", "tok_visa", quantity=2)
    results: dict[str, Any] = {}
    for name in ("order", "reserve", "fraud_check", "charge", "notify"):
        results[name] = getattr(payments, name)(context(name, order, **results))
    assert results["charge"] == {"charge": results["charge"]["charge"], "amount": 3190, "currency": "EUR"}
    kinds = {e["kind"] for e in gateway_client.get_ledger()["entries"] if e["order_id"] == "happy"}
    assert kinds == {"reservation", "check", "charge", "notice"}


def test_an_order_that_does_not_add_up_is_refused() -> None:
    wrong = order_input("wrong", "tok_visa") | {"amount": 1}
    with pytest.raises(PermanentError, match="items add up to 2295, amount says 1") as caught:
        payments.order(context("order", wrong))
    assert caught.value.category == "validation"


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("card", "failures", "error_type"),
    [
        ("tok_unavailable", 2, HTTPError),
        ("tok_misdirected", 1, HTTPError),
        ("tok_reset", 1, ConnectionResetError),
        ("tok_hangs", 1, TimeoutError),
    ],
)
def test_a_charge_that_fails_first_is_booked_once(
    card: str, failures: int, error_type: type[Exception]
) -> None:
    ctx = gateway_context("charge", card, f"once-{card}")
    for _ in range(failures):
        with pytest.raises(error_type):
            payments.charge(ctx)
    first = payments.charge(ctx)
    assert payments.charge(ctx) == first
    assert [entry["reference"] for entry in charges_of(f"once-{card}")] == [first["charge"]]


@pytest.mark.usefixtures("gateway")
def test_the_answer_that_never_came_was_booked() -> None:
    with pytest.raises(TimeoutError):
        payments.charge(gateway_context("charge", "tok_hangs", "hangs"))
    assert len(charges_of("hangs")) == 1


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("step", "card", "status", "retry_after"),
    [
        ("charge", "tok_unavailable", 503, "1"),
        ("fraud_check", "tok_rate_limited", 429, "1"),
        ("reserve", "tok_storage_full", 507, None),
        ("charge", "tok_misdirected", 421, None),
    ],
)
def test_failures_are_the_http_errors_users_meet(
    step: str, card: str, status: int, retry_after: str | None
) -> None:
    ctx = gateway_context(step, card, f"status-{status}")
    with pytest.raises(HTTPError) as caught:
        getattr(payments, step)(ctx)
    assert caught.value.code == status
    assert caught.value.headers.get("Retry-After") == retry_after
    assert caught.value.__notes__[0].startswith('gateway answered: {"code":')


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    "scenario", [s for s in all_scenarios() if s.expect != "complete"], ids=lambda s: s.name
)
def test_each_failing_scenario_raises_what_its_expectation_says(scenario: Scenario) -> None:
    if scenario.template == AIRPORTS:
        step, ctx = data_import.split, context("split", scenario.input)
    else:
        card = scenario.input["customer"]["card"]
        name = FAULTS[card].path.strip("/").replace("-", "_")
        step, ctx = getattr(payments, name), gateway_context(name, card, f"classified-{card}")
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one it is, is the classifier's to say
        step(ctx)
    verdict = classify(caught.value)
    assert verdict.rule != UNCLASSIFIED
    assert {"never": "dead_letter"}.get(verdict.policy, f"retried:{verdict.policy}") == scenario.expect


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("step", "card"), [("charge", "tok_unavailable"), ("fraud_check", "tok_rate_limited")]
)
def test_the_gateways_retry_after_is_understood(step: str, card: str) -> None:
    with pytest.raises(HTTPError) as caught:
        getattr(payments, step)(gateway_context(step, card, f"retry-after-{step}"))
    assert classify(caught.value).retry_after == timedelta(seconds=1)


@pytest.mark.usefixtures("gateway")
def test_a_declined_card_is_refused_until_it_is_fixed() -> None:
    ctx = gateway_context("charge", "tok_declined", "declined")
    for _ in range(4):
        with pytest.raises(HTTPError, match="422: Card Declined"):
            payments.charge(ctx)
    assert charges_of("declined") == []
    gateway_client.fix_card("tok_declined")
    payments.charge(ctx)
    assert len(charges_of("declined")) == 1


@pytest.mark.usefixtures("gateway")
def test_a_key_cannot_be_used_for_another_order() -> None:
    gateway_client.post("/charge", {"order_id": "a", "card": "tok_visa", "amount": 5}, idempotency_key="same")
    with pytest.raises(HTTPError) as caught:
        gateway_client.post("/charge", {"order_id": "b", "card": "tok_visa"}, idempotency_key="same")
    assert caught.value.code == 422
    assert "was booked for order a" in json.loads(caught.value.__notes__[0].partition(": ")[2])["message"]


@pytest.mark.usefixtures("gateway")
@pytest.mark.parametrize(
    ("path", "key", "body", "status"),
    [
        ("/charge", "", {"order_id": "a", "card": "tok_visa"}, 400),
        ("/charge", "k", {"card": "tok_visa"}, 400),
        ("/charge", "k", {"order_id": "a", "card": "tok_visa", "amount": -1}, 400),
        ("/charge", "k", [], 400),
        ("/refund", "k", {}, 404),
    ],
)
def test_bad_requests_are_refused(path: str, key: str, body: Any, status: int) -> None:
    with pytest.raises(HTTPError) as caught:
        gateway_client.post(path, body, idempotency_key=key)
    assert caught.value.code == status


def test_a_gateway_asked_to_stops_with_its_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "remand_examples.payments.gateway", "--port", "0", "--with-parent"]
    command += ["--state", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert json.loads(process.stdout.readline())["event"] == "ready"
        process.stdin.close()
        assert process.wait(timeout=5) == 0


def test_without_a_gateway_the_connection_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAYMENTS_GATEWAY_URL", "http://127.0.0.1:9")
    with pytest.raises(URLError) as caught:
        gateway_client.get_ledger()
    assert isinstance(caught.value.reason, ConnectionRefusedError)


def test_the_ledger_survives_a_restart(tmp_path: Path) -> None:
    journal = tmp_path / "state" / "ledger.jsonl"
    charge = {"order_id": "o", "amount": 7, "currency": "EUR", "card": "tok_visa"}
    first = Ledger(journal)
    booked = first.book("charge", "k", **charge)  # type: ignore[arg-type]
    first.fix_card("tok_declined")
    first.close()
    second = Ledger(journal)
    assert second.book("charge", "k", **charge) == booked  # type: ignore[arg-type]
    with pytest.raises(KeyReused):
        second.book("charge", "k", order_id="o", amount=8, currency="EUR", card="tok_visa")
    assert second.is_fixed("tok_declined")
    assert second.to_dict()["charged"] == {"EUR": 7}
    second.close()
    assert len(journal.read_text().splitlines()) == 2


def run_import(data: dict[str, Any]) -> dict[str, Any]:
    results: dict[str, Any] = {"split": data_import.split(context("split", data))}
    for number in range(1, data_import.PARTS + 1):
        step = f"validate_{number}"
        results[step] = data_import.validate(context(step, data, **results))
    results["aggregate"] = data_import.aggregate(context("aggregate", data, **results))
    results["report"] = data_import.report(context("report", data, **results))
    return json.loads(json.dumps(results))  # type: ignore[no-any-return]


def test_exactly_the_documented_rows_are_rejected() -> None:
    results = run_import({})
    table = (DATA_IMPORT / "SOURCE.md").read_text(encoding="utf-8")
    documented = {
        int(line): reason for line, reason in re.findall(r"^\| (\d+) \| (.+) \|$", table, re.MULTILINE)
    }
    rejected = {row["line"]: row["reason"] for row in results["aggregate"]["rejected"]}
    assert rejected == documented
    assert len(rejected) == 40
    assert results["aggregate"]["accepted"] == 3376
    assert results["aggregate"]["by_state"]["AK"] == 263
    assert sum(results["aggregate"]["by_state"].values()) == 3376
    assert results["report"]["text"].startswith(
        "3376 of 3416 airports accepted in 57 states\nmost airports: AK 263"
    )


def test_parts_cover_the_file_without_gap_or_overlap() -> None:
    parts = data_import.split(context("split", {}))["parts"]
    size = (DATA_IMPORT / "data" / "airports.csv").stat().st_size
    assert parts[0]["first_line"] == 2
    assert parts[-1]["end"] == size
    for before, after in pairwise(parts):
        assert before["end"] == after["start"]
        assert before["first_line"] + before["rows"] == after["first_line"]
    assert {part["rows"] for part in parts} <= {569, 570}


def test_validating_a_part_sends_heartbeats() -> None:
    beats: list[None] = []
    ctx = context("validate_2", {}, split=data_import.split(context("split", {})))
    data_import.validate(dataclasses.replace(ctx, on_heartbeat=lambda: beats.append(None)))
    assert len(beats) >= 5


def test_a_missing_file_is_the_file_not_found_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        data_import.split(context("split", {"path": "incoming/airports-not-delivered.csv"}))


def test_a_truncated_file_is_refused_before_any_part_is_read() -> None:
    truncated = str(DATA_IMPORT / "data" / "airports_truncated.csv")
    with pytest.raises(PermanentError, match="is truncated: line 401 ends after 23 bytes"):
        data_import.split(context("split", {"path": truncated}))


@pytest.mark.parametrize("content", ["", "code;name\n1;2\n"])
def test_another_kind_of_file_is_refused(tmp_path: Path, content: str) -> None:
    other = tmp_path / "other.csv"
    other.write_text(content)
    with pytest.raises(PermanentError, match="starts with columns"):
        data_import.split(context("split", {"path": str(other)}))


def test_a_file_that_shrinks_after_the_split_is_tried_again(tmp_path: Path) -> None:
    lines = (DATA_IMPORT / "data" / "airports.csv").read_bytes().splitlines(keepends=True)
    copy = tmp_path / "airports.csv"
    copy.write_bytes(b"".join(lines[:101]))
    data = {"path": str(copy)}
    cut = data_import.split(context("split", data))
    copy.write_bytes(b"".join(lines[:90]))
    with pytest.raises(RetryableError, match="part 6: 6 lines instead of 17"):
        data_import.validate(context("validate_6", data, split=cut))


def test_the_templates_take_the_input_of_every_scenario() -> None:
    templates = {f"{template.namespace}/{template.name}": template for template in TEMPLATES}
    for scenario in all_scenarios():
        validate_input(templates[scenario.template], scenario.input, max_bytes=10_000)


def test_every_handler_of_the_templates_is_registered() -> None:
    wanted = {step.handler for template in TEMPLATES for step in template.steps}
    assert wanted == {name for name in registry.names() if name.startswith(NAMESPACES)}


def test_the_payments_schema_refuses_a_card_number() -> None:
    (orders,) = (template for template in TEMPLATES if template.name == "order")
    with pytest.raises(InputInvalid, match="card"):
        validate_input(orders, order_input("o", "4242424242424242"), max_bytes=10_000)


def test_scenarios_are_distinct_and_cover_every_expectation() -> None:
    scenarios = all_scenarios()
    assert len({scenario.name for scenario in scenarios}) == len(scenarios)
    orders = [scenario.input["order_id"] for scenario in scenarios if scenario.template != AIRPORTS]
    assert len(set(orders)) == len(orders)
    assert {scenario.expect for scenario in scenarios} == {
        "complete",
        "retried:exponential",
        "retried:linear",
        "retried:immediate",
        "dead_letter",
    }


@pytest.fixture
def ledger_url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    command = [sys.executable, "-m", "remand_examples.outage.ledger", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        monkeypatch.setenv("LEDGER_API_URL", url)
        yield url
        process.terminate()
        assert process.wait(timeout=5) == 0


@pytest.mark.usefixtures("ledger_url")
def test_the_ledger_goes_down_counts_every_call_and_books_once() -> None:
    ctx = context("book", {"number": 1, "amount": 100})
    ledger_client.switch("down")
    failures = []
    for _ in range(4):
        with pytest.raises((HTTPError, ConnectionResetError)) as caught:
            outage.book(ctx)
        failures.append(caught.value)
    assert {type(one) for one in failures} == {HTTPError, ConnectionResetError}
    assert {classify(one).category for one in failures} <= {"transient", "network"}

    ledger_client.switch("up")
    booked = outage.book(ctx)

    assert outage.book(ctx) == booked
    assert outage.confirm(context("confirm", ctx.input, book=booked)) == {"number": 1, **booked}
    seen = ledger_client.record()
    assert [answer for _, answer in seen["calls"]].count("booked") == 2
    assert len(seen["calls"]) == 6
    assert [state for _, state in seen["switches"]] == ["down", "up"]
    assert seen["entries"] == 1
