"""What `docs/operations/notifications.md` shows, as it stands there, on messages that are really sent."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.config.notify import NotifySettings
from remand_app.domain.notifications import DEFAULT_KINDS, Notice, NotificationKind
from remand_app.engine.enqueue_notifications import enqueue_many
from remand_app.engine.sweeps.notify import notify
from remand_app.store.database import Database
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.pages import ROOT, code, commands
from tests.support.receiver import Received, Receiver, receiver

pytestmark = pytest.mark.once

PAGE = "docs/operations/notifications.md"
TEXT = (ROOT / PAGE).read_text()
SECRETS = ("whsec_c2l4dGVlbiBieXRlcyBvciBtb3Jl", "a text of sixteen characters or more")


@pytest.fixture
def endpoint() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock of sender and receiver alike."""
    clock = FakeClock()

    def seconds() -> float:
        return clock.now.timestamp()

    monkeypatch.setattr("time.time", seconds)
    return clock


@pytest.fixture
def verified() -> Callable[..., Any]:
    names: dict[str, Any] = {}
    [block] = code(PAGE, "python")
    exec(block, names)
    found: Callable[..., Any] = names["verified"]
    return found


def settings_of_the_page() -> dict[str, Any]:
    [block] = code(PAGE, "toml")
    return tomllib.loads(block)


@pytest.fixture
def send(
    database: Database, now: FakeClock, endpoint: Receiver, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Received]:
    """Send one notice, signed with a secret, to the page's first target at the endpoint's address."""

    def sent(secret: str) -> Received:
        monkeypatch.setenv("PAGER_HOOK_URL", endpoint.url)
        monkeypatch.setenv("PAGER_HOOK_SECRET", secret)
        harness = Harness(database, clock=now, settings=settings_for(**settings_of_the_page()))
        with database.begin() as connection:
            about = Notice(NotificationKind.GROUP_OPENED, "g", "a new cause", {"step": "charge"})
            enqueue_many(connection, harness.settings, [about], now.now)
        assert notify(harness.engine, wait_seconds=60).sent == 1
        [got] = endpoint.received
        return got

    return sent


@pytest.mark.parametrize("secret", SECRETS)
def test_the_example_lets_in_what_we_sent_and_nothing_else(
    send: Callable[[str], Received], verified: Callable[..., Any], secret: str
) -> None:
    got = send(secret)

    assert verified(secret, got.headers, got.body)["data"]["title"] == "a new cause"
    for headers, body, key in (
        (got.headers, got.body + b" ", secret),
        (got.headers, got.body, "another secret of sixteen"),
        ({**got.headers, "webhook-id": "msg_other"}, got.body, secret),
    ):
        with pytest.raises(ValueError, match="not signed with this secret"):
            verified(key, headers, body)


def test_the_example_refuses_what_was_recorded_and_sent_again(
    send: Callable[[str], Received], now: FakeClock, verified: Callable[..., Any]
) -> None:
    got = send(SECRETS[0])
    now.advance(301)

    with pytest.raises(ValueError, match="too old"):
        verified(SECRETS[0], got.headers, got.body)


def test_its_commands_do_what_they_say(
    database_url: str,
    any_broker_url: str,
    endpoint: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "remand.toml").write_text(code(PAGE, "toml")[0])
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.setenv("PAGER_HOOK_URL", endpoint.url)
    monkeypatch.setenv("PAGER_HOOK_SECRET", SECRETS[0])
    monkeypatch.chdir(tmp_path)

    told = commands(PAGE)

    assert [line[1] for line in told] == ["test", "list", "list", "retry"]
    assert [run(line) for line in told] == [0, 0, 0, 0]
    assert [one.json["type"] for one in endpoint.received] == ["test"]


def test_its_targets_are_read_from_where_it_says(tmp_path: Path) -> None:
    hook = tmp_path / "slack-hook"
    hook.write_text("https://hooks.slack.test/services/T/B/x\n")
    told = settings_of_the_page()["notify"]
    [_, channel] = NotifySettings.model_validate(told).targets

    moved = channel.model_copy(update={"url_from": f"file:{hook}"})

    assert channel.url_from == "file:/run/secrets/slack-hook"
    assert moved.address().url == "https://hooks.slack.test/services/T/B/x"


def test_the_secret_that_it_makes_is_a_good_one(capsys: pytest.CaptureFixture[str]) -> None:
    [command] = re.findall(r'^\$ python -c "(.*)"$', TEXT, re.MULTILINE)
    exec(command)
    secret = capsys.readouterr().out.strip()

    [target] = NotifySettings.model_validate(
        {"targets": [{"name": "a", "url": "https://example.test", "secret": secret}]}
    ).targets
    key = target.address().key
    assert key is not None
    assert len(key) == 32


def test_it_names_every_kind_once_and_what_is_told_unasked() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| \w", TEXT, re.MULTILINE)

    assert sorted(rows) == sorted(NotificationKind)
    assert set(NotificationKind) - set(DEFAULT_KINDS) == {NotificationKind.DEAD_LETTER_OPENED}
