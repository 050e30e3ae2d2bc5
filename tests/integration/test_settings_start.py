"""A start while Postgres is away, starting or read-only: it waits, says for what, and gives up in time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.config import Settings
from remand_app.domain.errors import BrokerUnreachable, DatabaseUnreachable
from remand_app.engine.startup import await_broker, await_database, patiently
from remand_app.runtime import Runtime
from remand_app.store import database
from remand_app.store.database import Database
from remand_workers import heartbeat, process
from tests.support.bell import RecordingBell
from tests.support.databases import Cluster
from tests.support.link import Link
from tests.support.shapes import shape

PROGRAMS = (["migrate"], ["worker"], ["serve"])
NOBODY = "postgresql://u:hush@127.0.0.1:1/x"


class Time:
    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


def failing(times: float, message: str = "the database system is starting up") -> Callable[[], str]:
    left = times

    def call() -> str:
        nonlocal left
        if left > 0:
            left -= 1
            raise DatabaseUnreachable(f"Postgres at db:5432/x is not usable: {message}", hint="look at it")
        return "there"

    return call


def wait(call: Callable[[], str], seconds: float) -> tuple[str | DatabaseUnreachable, Time, list[str]]:
    """Start; return what came of it, the pauses, and the events that were written."""
    time = Time()
    outcome: str | DatabaseUnreachable
    with structlog.testing.capture_logs() as lines:
        try:
            settings = Settings(start_wait_seconds=seconds)
            outcome = patiently(call, settings, pause=time.pause, monotonic=lambda: time.now)
        except DatabaseUnreachable as error:
            outcome = error
    return outcome, time, [line["event"] for line in lines]


def test_what_is_there_is_not_waited_for() -> None:
    outcome, time, events = wait(failing(0), 60)

    assert (outcome, time.pauses, events) == ("there", [], [])


def test_a_start_waits_longer_and_longer_and_says_so_once() -> None:
    outcome, time, events = wait(failing(8), 60)

    assert outcome == "there"
    assert time.pauses == sorted(time.pauses)
    assert len(time.pauses) == 8
    assert events == ["database.awaited", "database.there"]


@pytest.mark.parametrize("seconds", [0.0, 3.0, 60.0])
def test_start_wait_seconds_is_how_long_a_start_waits(seconds: float) -> None:
    outcome, time, events = wait(failing(1e9), seconds)

    assert isinstance(outcome, DatabaseUnreachable)
    assert time.now == pytest.approx(seconds)
    assert events == ["database.awaited"][: len(time.pauses)]
    assert ("waited for" in outcome.message) == bool(seconds)
    assert outcome.exit_code == 3


@pytest.mark.parametrize(
    "message",
    [
        'FATAL:  password authentication failed for user "u"',
        'FATAL:  role "u" does not exist',
        'no pg_hba.conf entry for host "10.0.0.1"',
    ],
)
def test_what_no_wait_mends_is_told_at_once(message: str) -> None:
    outcome, time, _ = wait(failing(1e9, message), 60)

    assert isinstance(outcome, DatabaseUnreachable)
    assert time.pauses == []


@pytest.fixture
def read_only(cluster: Cluster) -> Iterator[tuple[str, Callable[[bool], None]]]:
    """A migrated database that takes no writes, and how to change that."""
    with cluster.fresh() as url:
        name = url.rpartition("/")[2].partition("?")[0]

        def set_to(on: bool) -> None:
            cluster.execute(
                f"alter database {name} set default_transaction_read_only = {'on' if on else 'off'}"
            )

        set_to(True)
        yield url, set_to


def test_a_server_that_takes_writes_again_is_gone_on_with(
    read_only: tuple[str, Callable[[bool], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, set_to = read_only
    database = Database(url)
    monkeypatch.setattr("time.sleep", lambda _: set_to(False))
    with pytest.raises(DatabaseUnreachable, match="read-only"):
        database.check_writes()

    await_database(database, Settings(start_wait_seconds=0.0), writes=False)
    patiently(database.check_writes, Settings(start_wait_seconds=60.0), pause=lambda _: set_to(False))
    database.dispose()


@pytest.fixture
def start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[[str, list[str]], tuple[int, str]]:
    """Start a program that gives up soon; return its exit code and all it said."""
    # A test before may have left a handler that writes to its own stream, which is closed.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.execve", lambda *_: None)

    def call(url: str, words: list[str]) -> tuple[int, str]:
        monkeypatch.setenv("REMAND_DATABASE_URL", url)
        monkeypatch.setenv("REMAND_BROKER_URL", "redis://127.0.0.1:1/0")
        monkeypatch.setenv("REMAND_START_WAIT_SECONDS", "0.3")
        capsys.readouterr()
        code = run(words)
        told = capsys.readouterr()
        return code, told.out + told.err

    return call


@pytest.mark.parametrize("words", PROGRAMS, ids=lambda words: words[0])
def test_a_program_without_a_server_ends_with_its_code(start: Any, words: list[str]) -> None:
    code, told = start(NOBODY, words)

    assert code == 3
    assert "DATABASE_UNREACHABLE" in told
    assert "waited for" in told
    assert not {"Traceback", "bug", "hush"} & set(told.replace(":", " ").split())


@pytest.mark.parametrize("words", [["migrate"], ["worker"]], ids=lambda words: words[0])
def test_a_program_that_writes_does_not_start_on_a_read_only_server(
    start: Any, read_only: tuple[str, Callable[[bool], None]], words: list[str]
) -> None:
    code, told = start(read_only[0], words)

    assert code == 3
    assert "read-only" in told
    assert "Traceback" not in told


@pytest.mark.parametrize("words", [["serve"], ["migrate", "--dry"]], ids=lambda words: words[0])
def test_a_program_that_reads_starts_on_one(
    start: Any, read_only: tuple[str, Callable[[bool], None]], words: list[str]
) -> None:
    assert start(read_only[0], words)[0] == 0


def test_beat_starts_without_any_server(start: Any) -> None:
    code, told = start(NOBODY, ["beat"])

    assert (code, "beat rings" in told) == (0, True)


def test_a_database_that_is_not_there_is_told_at_once(
    start: Callable[[str, list[str]], tuple[int, str]], database_url: str
) -> None:
    code, told = start(f"{database_url.rpartition('/')[0]}/nowhere", ["migrate"])

    assert code == 3
    assert "DATABASE_MISSING" in told
    assert "waited" not in told


class LateToAnswer(RecordingBell):
    """A bell whose broker answers the third time that it is asked."""

    def __init__(self, message: str = "Redis is loading the dataset in memory") -> None:
        super().__init__()
        self.asked = 0
        self.message = message

    def check(self) -> None:
        self.asked += 1
        if self.asked < 3:
            raise BrokerUnreachable(self.message)


def test_a_worker_waits_for_a_broker_that_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    bell = LateToAnswer()

    await_broker(bell, Settings(start_wait_seconds=60.0))

    assert bell.asked == 3
    with pytest.raises(BrokerUnreachable, match="loading"):
        await_broker(LateToAnswer(), Settings(start_wait_seconds=0.0))


@pytest.mark.parametrize(
    "message", ["(403) ACCESS_REFUSED - Login was refused", "invalid username-password pair"]
)
def test_a_wrong_password_of_the_broker_is_told_at_once(message: str) -> None:
    bell = LateToAnswer(message)
    with pytest.raises(BrokerUnreachable):
        await_broker(bell, Settings(start_wait_seconds=60.0))
    assert bell.asked == 1


@pytest.mark.parametrize("away", range(1, 4), ids=["first look", "schema", "templates"])
def test_a_worker_that_starts_outlives_a_server_that_goes_away_again(
    fresh_database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, away: int
) -> None:
    """Each time that it opens a connection may be the one at which Postgres is away."""
    (tmp_path / "one.yaml").write_text(shape("one", {"a": ()}))
    with Link(fresh_database_url) as link:
        runtime = Runtime(Settings(database_url=link.url, templates=(str(tmp_path),)))
        opened: list[int] = []
        connect = database.connect

        def connect_or_not(url: str) -> Any:
            opened.append(len(opened))
            (link.refuse if len(opened) == away else link.heal)()
            return connect(url)

        monkeypatch.setattr(database, "connect", connect_or_not)
        monkeypatch.setattr(process, "runtime", lambda: runtime)
        monkeypatch.setattr(Runtime, "check_schema", dropping(runtime, Runtime.check_schema))
        monkeypatch.setattr(heartbeat, "publish", dropping(runtime, heartbeat.publish))
        heartbeat._prepare()
        assert len(opened) > away, "nothing was tried again"
        runtime.database.dispose()


def dropping(runtime: Runtime, call: Any) -> Any:
    """Return `call`, which begins without a connection."""

    def drop_and_call(*arguments: Any) -> Any:
        runtime.database.dispose()
        return call(*arguments)

    return drop_and_call
