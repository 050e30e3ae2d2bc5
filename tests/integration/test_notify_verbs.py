"""`remand notify`, its routes, and what doctor says of targets. Source: D2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import remand_app.cli.main  # noqa: F401 - registers the commands
from remand_app.cli.invoke import run
from remand_app.domain.access import Role
from remand_app.domain.errors import IllegalMove, InputInvalid, NotificationNotFound, TargetNotFound
from remand_app.domain.notifications import DeliveryState, Notice, NotificationKind
from remand_app.domain.webhook_answers import Delivered, TryAgain
from remand_app.engine import notification_targets
from remand_app.engine.enqueue_notifications import enqueue_many
from remand_app.engine.operate import Who
from remand_app.engine.sweeps.notify import notify
from remand_app.resources import notifications
from remand_app.store import notification_lists
from remand_app.store.database import Database
from remand_app.store.ids import new_id
from tests.support.clock import FakeClock
from tests.support.engine import Harness, settings_for
from tests.support.receiver import SECRET_PATH, Answer, Receiver, receiver
from tests.support.web import Web

ANN = Who("ann", "it was moved")
Ask = Callable[..., Any]


@pytest.fixture
def endpoint() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def targets(endpoint: Receiver) -> list[dict[str, Any]]:
    """Two that answer at the same place."""
    return [{"name": name, "url": endpoint.url, "min_interval_seconds": 0} for name in ("a", "b")]


@pytest.fixture
def clock() -> FakeClock:
    """The command line reads Postgres' clock."""
    return FakeClock(datetime.now(UTC))


@pytest.fixture
def harness(database: Database, targets: list[dict[str, Any]], clock: FakeClock) -> Harness:
    return Harness(database, clock=clock, settings=settings_for(notify={"targets": targets}))


def put(harness: Harness, subject: str) -> None:
    with harness.database.begin() as connection:
        told = Notice(NotificationKind.GROUP_OPENED, subject, f"about {subject}")
        enqueue_many(connection, harness.settings, [told], harness.clock.now)


def refused(harness: Harness, endpoint: Receiver, *subjects: str) -> None:
    """Let both targets refuse a message of each subject for good; later they take what they get."""
    endpoint.answers = [Answer(400)]
    for subject in subjects:
        put(harness, subject)
        notify(harness.engine, wait_seconds=60)
        harness.advance(1)
    endpoint.answers = [Answer()]
    endpoint.received.clear()


def states(database: Database) -> set[tuple[str, str, str]]:
    return set(database.call("select target, subject_id, state from remand.notifications"))


def ids_of(database: Database, target: str) -> dict[str, UUID]:
    query = "select subject_id, id from remand.notifications where target = %s"
    return dict(database.call(query, (target,)))


def audited(database: Database) -> list[tuple[Any, ...]]:
    query = "select by, via, subject, reason, after from remand.audit_log where verb = 'notification.retry'"
    return database.call(query)


# The verbs


def test_all_that_a_target_was_given_up_with_is_sent_again_under_the_same_ids(
    harness: Harness, endpoint: Receiver
) -> None:
    refused(harness, endpoint, "x", "y")
    before = dict(harness.database.call("select id, message_id from remand.notifications"))

    assert notification_targets.retry(harness.engine, "a", ANN) == 2
    for _ in range(2):
        notify(harness.engine, wait_seconds=60)
        harness.advance(1)

    assert states(harness.database) == {
        ("a", "x", "sent"),
        ("a", "y", "sent"),
        ("b", "x", "given_up"),
        ("b", "y", "given_up"),
    }
    assert len(endpoint.received) == 2
    assert dict(harness.database.call("select id, message_id from remand.notifications")) == before
    known = {f"msg_{one}" for one in before.values()}
    assert {one.headers["webhook-id"] for one in endpoint.received} < known
    assert audited(harness.database) == [
        ("ann", "cli", "a", "it was moved", {"state": "pending", "count": 2})
    ]


def test_only_the_messages_of_some_notices_are_sent_again(harness: Harness, endpoint: Receiver) -> None:
    refused(harness, endpoint, "x", "y")

    assert notification_targets.retry(harness.engine, "a", ANN, [ids_of(harness.database, "a")["y"]]) == 1

    assert {one for one in states(harness.database) if one[2] == "pending"} == {("a", "y", "pending")}


def test_a_retry_has_all_tries_before_it_again_and_does_not_wait(
    database: Database, targets: list[dict[str, Any]], endpoint: Receiver
) -> None:
    few = [{**one, "max_attempts": 2} for one in targets]
    harness = Harness(database, settings=settings_for(notify={"targets": few}))
    endpoint.answers = [Answer(500)]
    put(harness, "x")
    for _ in range(3):
        notify(harness.engine, wait_seconds=60)
        harness.advance(minutes=1)
    notify(harness.engine, wait_seconds=60)
    [standing, _] = notification_targets.standings(harness.engine)
    assert (standing.pending, standing.given_up, standing.failures) == (0, 1, 2)

    notification_targets.retry(harness.engine, "a", ANN)

    [standing, other] = notification_targets.standings(harness.engine)
    assert (standing.pending, standing.given_up, standing.failures) == (1, 0, 0)
    assert (other.given_up, other.failures) == (1, 2)
    endpoint.answers = [Answer(500), Answer()]
    assert notify(harness.engine, wait_seconds=60).failed == 1
    harness.advance(minutes=1)
    assert notify(harness.engine, wait_seconds=60).sent == 1


def test_retrying_twice_changes_and_records_it_once(harness: Harness, endpoint: Receiver) -> None:
    refused(harness, endpoint, "x")

    assert [notification_targets.retry(harness.engine, "a", ANN) for _ in range(2)] == [1, 0]
    assert len(audited(harness.database)) == 1


def test_what_cannot_be_sent_again_is_refused(harness: Harness, endpoint: Receiver) -> None:
    refused(harness, endpoint, "x")
    put(harness, "new")
    ids = ids_of(harness.database, "a")

    with pytest.raises(TargetNotFound):
        notification_targets.retry(harness.engine, "c", ANN)
    for missing in (new_id(), ids_of(harness.database, "b")["x"]):
        with pytest.raises(NotificationNotFound):
            notification_targets.retry(harness.engine, "a", ANN, [missing])
    with pytest.raises(IllegalMove):
        notification_targets.retry(harness.engine, "a", ANN, [ids["x"], ids["new"]])
    assert ("a", "x", "given_up") in states(harness.database)
    assert audited(harness.database) == []


def test_a_retry_while_another_message_is_under_way_does_not_take_it_away(
    harness: Harness, endpoint: Receiver
) -> None:
    refused(harness, endpoint, "x")
    put(harness, "y")
    sent = []

    def retry_meanwhile(*_: Any) -> Delivered:
        sent.append(notification_targets.retry(harness.engine, "a", ANN))
        return Delivered("200 OK")

    notify(harness.engine, retry_meanwhile, wait_seconds=60)

    assert sum(sent) == 1
    assert states(harness.database) == {
        ("a", "x", "pending"),
        ("b", "x", "given_up"),
        ("a", "y", "sent"),
        ("b", "y", "sent"),
    }


def test_a_target_that_is_tried_gets_one_message_and_nothing_is_stored(
    harness: Harness, endpoint: Receiver
) -> None:
    assert isinstance(notification_targets.try_target(harness.engine, "a"), Delivered)
    endpoint.answers = [Answer(503)]
    assert isinstance(notification_targets.try_target(harness.engine, "a"), TryAgain)

    assert [one.json["type"] for one in endpoint.received] == ["test", "test"]
    assert states(harness.database) == set()
    with pytest.raises(TargetNotFound, match="no target 'aa'"):
        notification_targets.try_target(harness.engine, "aa")


# The lists


def test_a_list_is_walked_page_by_page_newest_first(harness: Harness) -> None:
    for number in range(5):
        put(harness, f"s{number}")
    seen, cursor = [], None
    while True:
        page = notifications.list_page(harness.database, target="a", after=cursor, limit=2)
        seen += [one.subject_id for one in page.items]
        cursor = page.next
        if cursor is None:
            break

    assert seen == ["s4", "s3", "s2", "s1", "s0"]
    with pytest.raises(InputInvalid):
        notifications.list_page(harness.database, after="later")


def test_a_list_holds_only_what_is_asked_for(harness: Harness, endpoint: Receiver) -> None:
    refused(harness, endpoint, "x")
    put(harness, "new")

    def listed(**wanted: Any) -> set[tuple[str, str]]:
        page = notifications.list_page(harness.database, **wanted)
        return {(one.target, one.subject_id) for one in page.items}

    assert listed(states=[DeliveryState.GIVEN_UP]) == {("a", "x"), ("b", "x")}
    assert listed(states=[DeliveryState.PENDING], target="b") == {("b", "new")}
    assert len(listed()) == 4


def test_targets_that_no_setting_names_any_more_are_told_while_they_have_notices(harness: Harness) -> None:
    put(harness, "x")

    assert [one.name for one in notification_lists.standings(harness.database, ["z"])] == ["a", "b", "z"]
    assert [one.pending for one in notification_lists.standings(harness.database, ["z"])] == [1, 1, 0]


# The command line


@pytest.fixture
def place(
    database_url: str,
    any_broker_url: str,
    targets: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Where commands are typed."""
    monkeypatch.setenv("REMAND_DATABASE_URL", database_url)
    monkeypatch.setenv("REMAND_BROKER_URL", any_broker_url)
    monkeypatch.setenv("REMAND_USER", "ann")
    monkeypatch.setenv("REMAND_NOTIFY__TARGETS", json.dumps(targets))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ask(place: None, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run `remand …`, hold it to its exit code, return what it answered: JSON, or text for people."""

    def answer(*words: str, exits: int = 0, people: bool = False) -> Any:
        capsys.readouterr()
        code = run([*words] if people else [*words, "--json"])
        told = capsys.readouterr()
        assert code == exits, f"{words}: {code}\n{told.out}\n{told.err}"
        return told.out if people else json.loads((told.out or told.err).splitlines()[-1])

    return answer


def test_the_command_line_lists_retries_and_tells_what_next(
    harness: Harness, endpoint: Receiver, ask: Ask
) -> None:
    refused(harness, endpoint, "x")

    told = ask("notify", "list", people=True)
    assert "400 Bad Request" in told
    assert "remand notify retry a" in told
    found = ask("notify", "list", "--state", "given_up", "--target", "a")
    [item] = found["items"]
    assert [(one["name"], one["given_up"]) for one in found["targets"]] == [("a", 1), ("b", 1)]

    again = ask("notify", "retry", "a", "--notice", item["id"][-8:], "--reason", "moved")
    assert again == {"target": "a", "count": 1}
    assert audited(harness.database)[0][:4] == ("ann", "cli", "a", "moved")
    assert ask("notify", "retry", "c", exits=4)["error"]["code"] == "TARGET_NOT_FOUND"
    assert ask("notify", "retry", "a", "--notice", "00", exits=4)["error"]["code"] == "NOTIFICATION_NOT_FOUND"


def test_the_command_line_tries_a_target_and_fails_if_it_does(
    database: Database, endpoint: Receiver, ask: Ask
) -> None:
    assert ask("notify", "test", "a") == {"target": "a", "delivered": True, "answer": "200 OK: ok"}
    endpoint.answers = [Answer(404, body=f"no {SECRET_PATH} here".encode())]

    told = ask("notify", "test", "a", exits=1)

    assert told["delivered"] is False
    assert told["answer"].startswith("404 Not Found")
    assert SECRET_PATH not in json.dumps(told)


def test_doctor_tells_of_targets_that_do_not_take_what_they_are_sent(
    harness: Harness, endpoint: Receiver, ask: Ask
) -> None:
    def findings() -> dict[str, str]:
        found = ask("doctor", exits=1)["findings"]  # no worker runs here
        return {one["message"]: one["level"] for one in found if one["subject"] == "notify"}

    assert findings() == {f"{name} takes what it is sent, 0 wait": "ok" for name in "ab"}
    refused(harness, endpoint, "x")
    notification_targets.retry(harness.engine, "b", ANN)
    assert findings() == {"a: 1 notice given up": "warn", "b takes what it is sent, 1 wait": "ok"}


# The API


@pytest.fixture
def web(database: Database, targets: list[dict[str, Any]], clock: FakeClock) -> Iterator[Web]:
    made = Web(database, clock, notify={"targets": targets})
    yield made
    made.close()


def test_the_api_lists_and_sends_again(web: Web, harness: Harness, endpoint: Receiver) -> None:
    refused(harness, endpoint, "x", "y")
    client = web.program(Role.OPERATOR)

    page = client.get("/api/v1/notifications", params={"state": "given_up", "target": "a", "limit": 1}).json()
    assert [one["subject_id"] for one in page["items"]] == ["y"]
    rest = client.get("/api/v1/notifications", params={"target": "a", "cursor": page["next"]}).json()
    assert [one["subject_id"] for one in rest["items"]] == ["x"]
    [first, _] = client.get("/api/v1/notifications/targets").json()["items"]
    assert (first["name"], first["given_up"]) == ("a", 2)

    where = "/api/v1/notifications/targets/a"
    chosen = {"action": "retry", "notifications": [page["items"][0]["id"]], "reason": "moved"}
    assert client.patch(where, json=chosen).json() == {"target": "a", "count": 1}
    assert client.patch(where, json=chosen).status_code == 409
    assert client.patch(where, json={"action": "retry"}).json() == {"target": "a", "count": 1}
    assert client.patch("/api/v1/notifications/targets/c", json={"action": "retry"}).status_code == 404
    assert [one[:4] for one in audited(web.database)] == [
        (client_name(web), "api", "a", "moved"),
        (client_name(web), "api", "a", None),
    ]


def client_name(web: Web) -> str:
    return f"token:{web.database.call('select name from remand.api_tokens')[0][0]}"


def test_a_message_is_told_as_a_test(harness: Harness) -> None:
    seen: list[bytes] = []

    def keep(_: str, body: bytes, *__: Any) -> Delivered:
        seen.append(body)
        return Delivered("ok")

    notification_targets.try_target(harness.engine, "a", keep)

    assert json.loads(seen[0])["data"]["title"] == "a test: what Remand tells arrives here"
