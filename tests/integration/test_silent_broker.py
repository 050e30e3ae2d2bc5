"""A broker that accepts and stays silent: whoever opens it waits as long as the setting says, no longer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from celery import Celery

from remand.client import Client, NoAnswer
from remand_app.bell import CeleryBell, bell_to
from remand_app.domain.errors import BrokerUnreachable
from tests.support.brokers import clean_broker, rabbitmq_url
from tests.support.deaf import Deaf
from tests.support.fixtures import _worker_number

SHORT_SECONDS = 0.3
FEW_SECONDS = 4.0
"""Ample for two tries of a loaded machine; what went wrong took ten to sixty."""


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    with Deaf() as made:
        yield made


def seconds_of(call: Callable[[], Any]) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


def refused(bell: CeleryBell) -> None:
    with pytest.raises(BrokerUnreachable):
        bell.check()


def undecided(bell: CeleryBell) -> None:
    with pytest.raises(BrokerUnreachable):
        bell.differing(["steps"])


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
@pytest.mark.parametrize(
    "ask",
    [refused, undecided, lambda bell: bell.ring(["steps"]), lambda bell: bell.pending("steps")],
    ids=["check", "differing", "ring", "pending"],
)
def test_nobody_waits_long_for_a_broker_that_says_nothing(
    deaf: Deaf, scheme: str, ask: Callable[[CeleryBell], Any]
) -> None:
    bell = bell_to(f"{scheme}://guest:guest@127.0.0.1:{deaf.port}/0", timeout_seconds=SHORT_SECONDS)

    assert seconds_of(lambda: ask(bell)) < FEW_SECONDS


def test_a_command_does_not_wait_long(
    deaf: Deaf, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from remand_app.cli.invoke import run  # takes its time to load

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMAND_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("REMAND_BROKER_URL", f"redis://127.0.0.1:{deaf.port}/0")
    monkeypatch.setenv("REMAND_BROKER_TIMEOUT_SECONDS", str(SHORT_SECONDS))

    assert seconds_of(lambda: run(["config", "check"])) < 2 * FEW_SECONDS
    assert "the broker at" in capsys.readouterr().out


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_client_keeps_to_its_timeout(deaf: Deaf, scheme: str) -> None:
    url = f"{scheme}://guest:guest@127.0.0.1:{deaf.port}/0"
    client = Client(Celery("shop", broker=url, set_as_current=False), timeout=2)

    def submit() -> None:
        with pytest.raises(NoAnswer):
            client.submit("site/one", {})

    assert seconds_of(submit) < 2 + FEW_SECONDS


@pytest.mark.parametrize("kind", ["redis", "rabbitmq"])
def test_nobody_waits_long_for_a_broker_that_fell_silent(request: pytest.FixtureRequest, kind: str) -> None:
    url = rabbitmq_url() if kind == "rabbitmq" else request.getfixturevalue("test_servers").broker_url
    if not url.startswith("amqp" if kind == "rabbitmq" else "redis"):
        pytest.skip("the servers of this run are others")
    with clean_broker(url, _worker_number()) as mine:
        parts = urlsplit(mine)
        with Deaf((parts.hostname or "", parts.port or 0)) as proxy:
            there = parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{proxy.port}"))
            bell = bell_to(there.geturl(), timeout_seconds=SHORT_SECONDS)
            bell.ring(["steps"])
            assert bell.pending("steps") == 1
            proxy.deafen()

            assert seconds_of(lambda: bell.ring(["gpu"])) < FEW_SECONDS
            assert seconds_of(lambda: refused(bell)) < FEW_SECONDS
