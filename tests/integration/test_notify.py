from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remand_app.config.notify import NotifyTarget
from remand_app.domain.notifications import Notice, NotificationKind
from remand_app.domain.webhook_answers import Delivered, Outcome, TryAgain
from remand_app.engine.enqueue_notifications import enqueue_many
from remand_app.engine.notification_delivery import claim, deliver
from remand_app.engine.sweeps.notify import NotifyResult, notify
from remand_app.engine.webhook import post
from remand_app.store.database import Database
from tests.support.engine import Harness, settings_for
from tests.support.receiver import SECRET_PATH, Answer, Receiver, receiver

KEY = b"a key of more than sixteen bytes"
SECRET = "whsec_" + base64.b64encode(KEY).decode()
PATIENT = 60.0


@pytest.fixture
def endpoint() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


def harness_for(database: Database, *targets: dict[str, Any], **settings: Any) -> Harness:
    filled = [{"name": "ops", "secret": SECRET, "min_interval_seconds": 0, **one} for one in targets]
    return Harness(database, settings=settings_for(notify={"targets": filled}, **settings))


@pytest.fixture
def harness(database: Database, endpoint: Receiver) -> Harness:
    return harness_for(database, {"url": endpoint.url})


def put(harness: Harness, *subjects: str, kind: NotificationKind = NotificationKind.GROUP_OPENED) -> None:
    told = [Notice(kind, one, f"about {one}", {"step": "charge", "count": 3}) for one in subjects]
    with harness.database.begin() as connection:
        enqueue_many(connection, harness.settings, told, harness.clock.now)


def sweep(harness: Harness) -> NotifyResult:
    return notify(harness.engine, wait_seconds=PATIENT)


def rows(database: Database) -> list[dict[str, Any]]:
    names = ("target", "subject_id", "state", "attempts", "last_error", "message_id", "due_at", "sent_at")
    found = database.call(f"select {', '.join(names)} from remand.notifications order by id")
    return [dict(zip(names, row, strict=True)) for row in found]


def test_a_notice_is_sent_once_signed_and_settled(harness: Harness, endpoint: Receiver) -> None:
    put(harness, "g")

    assert sweep(harness) == NotifyResult(sent=1, failed=0, under_way=0)
    assert sweep(harness) == NotifyResult(sent=0, failed=0, under_way=0)

    [got] = endpoint.received
    assert got.path == SECRET_PATH
    assert got.headers["content-type"] == "application/json"
    assert got.json == {
        "type": "group_opened",
        "timestamp": harness.clock.now.isoformat(),
        "data": {
            "subject_id": "g",
            "title": "about g",
            "link": None,
            "facts": {"step": "charge", "count": 3},
        },
    }
    [row] = rows(harness.database)
    assert (row["state"], row["attempts"], row["last_error"]) == ("sent", 1, None)
    assert row["sent_at"] == harness.clock.now
    assert got.headers["webhook-id"] == f"msg_{row['message_id']}"


def test_the_signature_is_that_of_standard_webhooks(harness: Harness, endpoint: Receiver) -> None:
    put(harness, "g")
    sweep(harness)

    [got] = endpoint.received
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    at = datetime.fromtimestamp(int(got.headers["webhook-timestamp"]), UTC)
    assert timedelta() <= harness.clock.now - at < timedelta(seconds=1)


def test_without_a_secret_nothing_is_signed(database: Database, endpoint: Receiver) -> None:
    harness = harness_for(database, {"url": endpoint.url, "secret": None})
    put(harness, "g")
    sweep(harness)

    assert "webhook-signature" not in endpoint.received[0].headers
    assert "webhook-id" in endpoint.received[0].headers


def test_slack_gets_one_text_in_which_nothing_of_ours_is_markup(
    database: Database, endpoint: Receiver
) -> None:
    harness = harness_for(
        database,
        {"url": endpoint.url, "format": "slack"},
        web={"dashboard_url": "https://remand.test"},
    )
    with database.begin() as connection:
        told = Notice(
            NotificationKind.GROUP_OPENED, "g", "in <!channel> & step", {"step": "<x>", "list": [1]}
        )
        enqueue_many(connection, harness.settings, [told], harness.clock.now)
    sweep(harness)

    assert endpoint.received[0].json == {
        "text": "*group opened*: <https://remand.test/dlq/groups/g|in &lt;!channel&gt; &amp; step>\n"
        "step: &lt;x&gt;"
    }


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_what_may_pass_is_tried_again_with_the_same_id_and_body(
    harness: Harness, endpoint: Receiver, status: int
) -> None:
    endpoint.answers = [Answer(status), Answer(status), Answer(204, body=b"")]
    put(harness, "g")

    assert sweep(harness).failed == 1
    [row] = rows(harness.database)
    assert (row["state"], row["attempts"]) == ("pending", 1)
    assert row["last_error"].startswith(f"{status} ")
    assert sweep(harness) == NotifyResult(0, 0, 0)  # not yet due
    waits = []
    for _ in range(2):
        [row] = rows(harness.database)
        waits.append((row["due_at"] - harness.clock.now).total_seconds())
        harness.advance(waits[-1])
        sweep(harness)

    assert len(endpoint.received) == 3
    assert len({one.headers["webhook-id"] for one in endpoint.received}) == 1
    assert len({one.body for one in endpoint.received}) == 1
    assert 7.5 <= waits[0] <= 12.5
    assert 15 <= waits[1] <= 25
    assert rows(harness.database)[0]["state"] == "sent"


@pytest.mark.parametrize("status", [200, 404, 503])
@pytest.mark.parametrize("body", [b"a\0b", b"\0" * 500, b"\x1b[2Jgone", b"\xff\xfe\0", "a\u202eb".encode()])
def test_an_answer_of_any_bytes_is_kept_as_a_text_that_can_be_shown(
    harness: Harness, endpoint: Receiver, status: int, body: bytes
) -> None:
    endpoint.answers = [Answer(status, body=body), Answer()]
    put(harness, "g")

    sweep(harness)
    put(harness, "h")
    for _ in range(2):
        harness.advance(days=1)
        sweep(harness)

    told = [row["last_error"] or "" for row in rows(harness.database)]
    assert all(one.isprintable() for one in told)
    assert "pending" not in {row["state"] for row in rows(harness.database)}


@pytest.mark.parametrize("status", [301, 400, 401, 404, 410, 422])
def test_what_will_not_pass_is_given_up_at_once_and_stays_to_be_seen(
    harness: Harness, endpoint: Receiver, status: int
) -> None:
    endpoint.answers = [Answer(status, {"location": "http://127.0.0.1:1/elsewhere"}), Answer()]
    put(harness, "g")
    sweep(harness)
    harness.advance(days=1)
    sweep(harness)

    assert len(endpoint.received) == 1
    [row] = rows(harness.database)
    assert row["state"] == "given_up"
    assert row["last_error"].startswith(f"{status} ")


def test_a_refused_message_does_not_hold_up_the_next(harness: Harness, endpoint: Receiver) -> None:
    endpoint.answers = [Answer(400), Answer()]
    put(harness, "bad")
    sweep(harness)
    put(harness, "good")
    sweep(harness)

    assert [row["state"] for row in rows(harness.database)] == ["given_up", "sent"]


def test_after_max_attempts_it_is_given_up(database: Database, endpoint: Receiver) -> None:
    harness = harness_for(database, {"url": endpoint.url, "max_attempts": 3})
    endpoint.answers = [Answer(500)]
    put(harness, "g")
    for _ in range(10):
        sweep(harness)
        harness.advance(hours=2)

    assert len(endpoint.received) == 3
    [row] = rows(database)
    assert (row["state"], row["attempts"]) == ("given_up", 3)


def test_retry_after_is_honoured_for_everything_that_goes_there(harness: Harness, endpoint: Receiver) -> None:
    endpoint.answers = [Answer(429, {"retry-after": "600"}), Answer()]
    put(harness, "g")
    sweep(harness)
    put(harness, "later")
    harness.advance(599)
    sweep(harness)
    assert len(endpoint.received) == 1

    harness.advance(2)
    sweep(harness)
    sweep(harness)
    assert len(endpoint.received) == 3


def test_a_closed_port_is_tried_again(database: Database) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    harness = harness_for(database, {"url": f"http://127.0.0.1:{port}/hook-that-is-secret"})
    put(harness, "g")

    assert sweep(harness).failed == 1
    [row] = rows(database)
    assert row["state"] == "pending"
    assert "refused" in row["last_error"]


@pytest.mark.parametrize("drips", [False, True])
def test_an_endpoint_that_hangs_or_drips_is_left_after_the_timeout(
    database: Database, endpoint: Receiver, drips: bool
) -> None:
    harness = harness_for(database, {"url": endpoint.url, "timeout_seconds": 0.3})
    endpoint.answers = [Answer(before=lambda: drips or endpoint.closing.wait(PATIENT), drips=drips)]
    put(harness, "g")

    assert sweep(harness).failed == 1
    assert rows(database)[0]["last_error"] == "no answer within 0.3 s"


def test_a_status_counts_though_what_comes_with_it_never_ends(database: Database, endpoint: Receiver) -> None:
    harness = harness_for(database, {"url": endpoint.url, "timeout_seconds": 0.3})
    endpoint.answers = [Answer(200, {"content-length": "100"}, body=b"")]
    put(harness, "g")

    assert sweep(harness).sent == 1


def test_something_that_is_no_http_is_tried_again(database: Database) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]

        def babble() -> None:
            taken, _ = door.accept()
            with taken:
                taken.recv(65_536)
                taken.sendall(b"220 mail.test ESMTP\r\n")

        thread = threading.Thread(target=babble)
        thread.start()
        harness = harness_for(database, {"url": f"http://127.0.0.1:{port}"})
        put(harness, "g")
        assert sweep(harness).failed == 1
        thread.join()

    assert "BadStatusLine" in rows(database)[0]["last_error"]


def test_a_target_that_hangs_keeps_no_other_waiting(database: Database, endpoint: Receiver) -> None:
    with receiver() as hanging:
        gate = threading.Event()
        hanging.answers = [Answer(before=lambda: gate.wait(PATIENT))]
        harness = harness_for(database, {"url": hanging.url, "name": "a"}, {"url": endpoint.url, "name": "b"})
        put(harness, "g")

        swept = notify(harness.engine, wait_seconds=0.5)

        assert (swept.sent, swept.under_way) == (1, 1)
        # What is under way is not sent a second time, however often is swept.
        assert notify(harness.engine, wait_seconds=0.5) == NotifyResult(0, 0, 0)
        gate.set()
        for thread in threading.enumerate():
            if thread.name == "notify-a":
                thread.join(PATIENT)
        assert len(hanging.received) == 1
        assert {row["target"]: row["state"] for row in rows(database)} == {"a": "sent", "b": "sent"}


def test_a_broken_target_starves_no_other(database: Database, endpoint: Receiver) -> None:
    harness = harness_for(
        database,
        {"url_from": "env:REMAND_TEST_NOT_SET", "name": "a"},
        {"url": endpoint.url, "name": "b"},
    )
    put(harness, "g")

    assert sweep(harness) == NotifyResult(sent=1, failed=1, under_way=0)
    by_target = {row["target"]: row for row in rows(database)}
    assert by_target["b"]["state"] == "sent"
    assert "REMAND_TEST_NOT_SET is not set" in by_target["a"]["last_error"]


def test_two_sweeps_at_once_send_once(harness: Harness, endpoint: Receiver) -> None:
    put(harness, "g")
    start = threading.Barrier(4)

    def run() -> None:
        start.wait()
        sweep(harness)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(endpoint.received) == 1


def test_killed_after_the_send_it_is_sent_again_under_the_same_id(
    harness: Harness, endpoint: Receiver
) -> None:
    put(harness, "g")
    [target] = harness.settings.notify.targets
    claimed = claim(harness.engine, target)
    assert claimed is not None

    class Killed(BaseException):
        pass

    def send_and_die(url: str, body: bytes, headers: Mapping[str, str], seconds: float) -> Outcome:
        post(url, body, headers, seconds)
        raise Killed

    with pytest.raises(Killed):
        deliver(harness.engine, target, claimed, send_and_die)
    assert sweep(harness) == NotifyResult(0, 0, 0)  # the lease still runs
    harness.advance(target.timeout_seconds + 31)
    assert sweep(harness).sent == 1

    first, second = endpoint.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert first.headers["webhook-timestamp"] != second.headers["webhook-timestamp"]


def test_killed_each_time_it_is_given_up_in_the_end(database: Database, endpoint: Receiver) -> None:
    harness = harness_for(database, {"url": endpoint.url, "max_attempts": 2})
    put(harness, "g")
    [target] = harness.settings.notify.targets
    for _ in range(2):
        assert claim(harness.engine, target) is not None
        harness.advance(minutes=5)

    assert claim(harness.engine, target) is None
    [row] = rows(database)
    assert row["state"] == "given_up"
    assert "no answer on record" in row["last_error"]


def test_a_failure_that_comes_too_late_changes_nothing(harness: Harness) -> None:
    put(harness, "g")
    [target] = harness.settings.notify.targets
    slow = claim(harness.engine, target)
    harness.advance(minutes=5)
    quick = claim(harness.engine, target)
    assert slow is not None
    assert quick is not None

    deliver(harness.engine, target, quick, lambda *_: Delivered("200 OK"))
    deliver(harness.engine, target, slow, lambda *_: TryAgain("no answer"))

    assert rows(harness.database)[0]["state"] == "sent"


def test_a_flood_is_one_message_and_a_digest_with_the_count(database: Database, endpoint: Receiver) -> None:
    harness = harness_for(
        database, {"url": endpoint.url, "min_interval_seconds": 60, "kinds": ["dead_letter_opened"]}
    )
    put(harness, "first", kind=NotificationKind.DEAD_LETTER_OPENED)
    sweep(harness)
    put(harness, *(f"l{number}" for number in range(10_000)), kind=NotificationKind.DEAD_LETTER_OPENED)
    sweep(harness)
    assert len(endpoint.received) == 1

    harness.advance(61)
    sweep(harness)
    harness.advance(61)
    sweep(harness)

    _, digest = endpoint.received
    assert digest.json["type"] == "digest"
    assert digest.json["data"]["count"] == 10_000
    assert digest.json["data"]["kinds"] == {"dead_letter_opened": 10_000}
    assert len(digest.json["data"]["notices"]) == 10
    assert len(digest.body) < 10_000


def test_a_digest_for_slack_counts_by_kind_and_names_some(database: Database, endpoint: Receiver) -> None:
    harness = harness_for(database, {"url": endpoint.url, "format": "slack"})
    put(harness, *(f"g{number:02}" for number in range(12)))
    put(harness, "api", kind=NotificationKind.BREAKER_OPENED)
    sweep(harness)

    text = endpoint.received[0].json["text"]
    assert "*13 notices*" in text
    assert "12 × group opened, 1 × breaker opened" in text
    assert text.count("• ") == 10
    assert text.endswith("… and 3 more")


def test_secrets_are_in_no_log_no_table_and_no_repr(
    database: Database, endpoint: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    harness = harness_for(database, {"url": endpoint.url})
    for status in (500, 404):
        echo = f"cannot find {endpoint.url} of {SECRET_PATH}, nor B0SECRET"
        endpoint.answers = [Answer(status, body=echo.encode())]
        put(harness, f"g{status}")
        sweep(harness)
        harness.advance(hours=1)

    seen = [
        caplog.text,
        str(database.call("select n::text from remand.notifications n")),
        str(database.call("select n::text from remand.notification_targets n")),
        repr(harness.settings),
        json.dumps(harness.settings.model_dump(mode="json", include={"notify"})),
    ]
    assert "cannot find" in seen[1]
    for text in seen:
        for secret in (SECRET_PATH, "B0SECRET", "path-that-is-a-secret", SECRET, KEY.decode()):
            assert secret not in text


def test_address_and_secret_are_read_where_the_settings_say_when_they_are_needed(tmp_path: Any) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    target = NotifyTarget(name="ops", url_from="env:HOOK", secret_from=f"file:{file}")

    address = target.address({"HOOK": "https://example.test/hook"})

    assert (address.url, address.key) == ("https://example.test/hook", KEY)
    assert "example.test" not in repr(address)
    assert "a key" not in repr(address)


def test_a_message_that_is_in_the_outbox_of_a_target_nobody_knows_stays(
    harness: Harness, database: Database, endpoint: Receiver
) -> None:
    put(harness, "g")
    elsewhere = harness_for(database, {"url": endpoint.url, "name": "other"})

    assert sweep(elsewhere) == NotifyResult(0, 0, 0)
    assert rows(database)[0]["state"] == "pending"
