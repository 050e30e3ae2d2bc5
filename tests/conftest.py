"""What holds for every test: its folder is its marker, events carry only their catalogued fields."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

from remand_app.telemetry import EVENTS, lines

pytest_plugins = ["tests.support.fixtures", "tests.support.site_fixtures", "tests.support.web_fixtures"]

# A loaded machine is no fault of the code: speed is measured by benchmarks, not by property tests.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

LEVELS = frozenset({"unit", "integration", "acceptance", "faults", "contract"})
# All that reaches a server of the run goes through one of these; whoever starts servers alone asks for none.
NEED_BROKER = frozenset({"broker_url", "any_broker_url", "open_site", "quiet_site"})
NEED_SERVERS = NEED_BROKER | {"test_servers"}
HERE = Path(__file__).parent
LONGEST = tuple(
    f"test_{name}.py"
    for name in (
        "bad_input", "cli", "three_am", "readme_for_real", "workers", "dashboard_browser", "api_schema",
        "breakers", "stops", "redrives", "metrics", "sweeps", "up", "command_access", "broker_answers",
        "gates", "outage", "rabbitmq_queues", "traces", "user_rules", "chaos",
    )
)  # fmt: skip
"""Modules of acceptance and faults that take longest, in order: begun late, all would wait for them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        level = item.path.relative_to(HERE).parts[0]
        if level in LEVELS:
            item.add_marker(level)
        asked = set(getattr(item, "fixturenames", ()))
        if asked & NEED_SERVERS:
            item.add_marker("servers")
        if asked & NEED_BROKER:
            item.add_marker("broker")
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    name = item.path.name
    is_long = item.path.parent.name in {"acceptance", "faults"} and name in LONGEST
    return LONGEST.index(name) if is_long else len(LONGEST)


def refuse_undeclared(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    spec = EVENTS.get(event["event"])
    undeclared = set(event) - {"event", "exc_info", *(spec.fields if spec else event)}
    assert not undeclared, (
        f"{event['event']} has fields outside app/remand_app/telemetry/events.py: {sorted(undeclared)}"
    )
    return event


@pytest.fixture(autouse=True)
def _strict_events() -> Iterator[None]:
    # Of each test: one that configures logging must not make the next one lenient.
    structlog.configure(
        processors=[refuse_undeclared, structlog.dev.ConsoleRenderer(colors=False)],
        cache_logger_on_first_use=False,
    )
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _hear_every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    # A test that configures logging must not make the next one deaf.
    monkeypatch.setattr(lines._threshold, "level", 0)
