"""Every policy, Retry-After, the time for retries and the retry budget, through the whole engine."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime
from typing import Any
from urllib.error import HTTPError
from uuid import UUID

import psycopg2
import pytest
import sqlalchemy as sa
from celery.exceptions import MaxRetriesExceededError

from remand import RateLimited
from remand_app.engine import operate
from remand_app.engine.fail import drain_failures
from remand_app.engine.operate import Who
from remand_app.engine.retry_budgets import forget_traffic
from tests.support.engine import Harness
from tests.support.shapes import always, fails, shape
from tests.support.threads import together, values

NETWORK = ConnectionResetError("reset by peer")
HarnessWith = Callable[..., Harness]


@pytest.fixture
def harness(harness_with: HarnessWith) -> Harness:
    """Make a harness with the budgets that users have."""
    return harness_with(retry_budget={})


def submitted(harness: Harness, error: BaseException, count: int = 1, **top: Any) -> list[UUID]:
    """Let the step of new workflows fail once, up to their retry queue."""
    harness.publish(shape("one", {"a": ()}, **top))
    harness.play(a=always(error))
    ids = harness.submit_many("t/one", range(count))
    while harness.drain().claimed:
        pass
    return ids


def waits(harness: Harness) -> list[float]:
    """Return in how many seconds each waiting retry is due, the earliest first."""
    rows = harness.database.call(
        "select due_at from remand.run_queue where phase = 'waiting' order by due_at"
    )
    return [(row[0] - harness.clock.now).total_seconds() for row in rows]


def explanation(harness: Harness, workflow_id: UUID) -> str:
    return str(harness.attempts(workflow_id)[-1].explanation)


# policies and their queues


@pytest.mark.parametrize(
    ("policy", "queue", "ladder"),
    [("fibonacci", "exponential", [60, 60, 120, 180, 300]), ("fixed", "linear", [60, 60, 60, 60, 60])],
)
def test_a_policy_without_a_queue_of_its_own_is_applied_in_the_queue_of_its_kind(
    harness: Harness, policy: str, queue: str, ladder: list[float]
) -> None:
    retry = {"policies": {"network": policy}, "max_attempts": 6}
    [workflow_id] = submitted(harness, NETWORK, retry=retry)

    assert f"retry.{queue}" in harness.bell.take()
    for wait in ladder:
        [(at, phase)] = harness.database.call("select queue, phase from remand.run_queue")
        assert (at, phase) == (f"retry.{queue}", "failed")
        harness.drain_failures(queue)
        assert waits(harness) == [wait]
        harness.advance(wait)
        harness.sweep_ring()
        harness.drain()
    harness.run_until_quiet()

    assert [one.policy for one in harness.attempts(workflow_id)] == [policy] * 6
    assert f"policy {policy} waits" in str(harness.attempts(workflow_id)[0].explanation)


def test_settings_template_and_step_name_the_policy_of_a_category(harness_with: HarnessWith) -> None:
    harness = harness_with(retry={"policies": {"network": "fibonacci", "resource": "fixed"}})
    step = {"retry": {"policies": {"network": "immediate"}, "immediate": {"delay_seconds": 7}}}
    harness.publish(
        shape("two", {"a": (), "b": ()}, retry={"policies": {"resource": "linear"}}, each={"b": step})
    )
    harness.play(a=always(NETWORK), b=always(NETWORK))
    network = harness.submit("t/two")
    harness.run_until_quiet()

    harness.play(a=always(OSError(28, "No space left on device")), b="well")
    resource = harness.submit("t/two")
    harness.run_until_quiet()

    assert [one.policy for one in harness.attempts(network)] == ["fibonacci", "immediate"]
    assert [one.policy for one in harness.attempts(resource, "a")] == ["linear"]


def test_failures_of_the_same_second_come_back_spread_over_the_window(harness_with: HarnessWith) -> None:
    harness = harness_with(retry_budget={"enabled": False})
    harness.engine = replace(harness.engine, jitter=lambda: random.Random(next(seeds)).uniform(-1, 1))
    seeds: Iterator[int] = iter(range(500))
    submitted(harness, NETWORK, 500)
    harness.drain_failures("exponential")

    due = waits(harness)

    window = max(due) - min(due)
    assert len(due) == 500
    assert (min(due), max(due)) == (pytest.approx(51, abs=0.5), pytest.approx(69, abs=0.5))
    assert statistics.pstdev(due) > 0.1 * window
    assert max(Counter(int(one) for one in due).values()) < 60


def test_a_resource_is_left_alone_for_longer_than_the_network(harness: Harness) -> None:
    harness.publish(shape("two", {"net": (), "full": ()}))
    harness.play(net=always(NETWORK), full=always(OSError(28, "No space left on device")))
    workflow_id = harness.submit("t/two")
    harness.run_until_quiet()

    first = {one.step: one.due_at for one in harness.attempts(workflow_id)}

    assert first["full"] - harness.clock.now == timedelta(minutes=5)  # type: ignore[operator]
    assert first["net"] - harness.clock.now == timedelta(minutes=1)  # type: ignore[operator]


# what servers say


def refused(*headers: tuple[str, str]) -> HTTPError:
    message = Message()
    for name, value in headers:
        message[name] = value
    return HTTPError("https://shop.example/", 503, "Service Unavailable", message, None)


def http_date(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ([], 1),
        ([("Retry-After", "3600")], 3600),
        ([("retry-after", "90")], 90),
        ([("Retry-After", "1.5")], 1.5),
        ([("Retry-After", "0")], 1),
        ([("Retry-After", "-5")], 1),
        ([("Retry-After", "abc")], 1),
        ([("Retry-After", "10"), ("Retry-After", "20")], 10),
        ([("Retry-After", "10, 20")], 10),
        ([("Retry-After", http_date(-86_400))], 1),
        ([("Retry-After", "9999999999")], None),
        ([("Retry-After", "9" * 300)], None),
        ([("Retry-After", http_date(366 * 86_400))], None),
    ],
    # Not by their values: dates differ from one test process to the next.
    ids=[
        "none", "an hour", "lower case", "a fraction", "zero", "negative", "no number", "two headers",
        "a list", "yesterday", "317 years", "300 digits", "a year and a day",
    ],
)  # fmt: skip
def test_a_header_becomes_the_instant_of_the_next_run(
    harness: Harness, headers: list[tuple[str, str]], wait: float | None
) -> None:
    [workflow_id] = submitted(harness, refused(*headers), retry={"exponential": {"base_seconds": 1}})
    harness.drain_failures("exponential")

    if wait is None:
        letter = harness.open_letter(workflow_id)
        assert letter.reason == "permanent_failure"
        assert "max_retry_after_seconds" in letter.metadata["explanation"]
    else:
        assert waits(harness) == [wait]


def test_an_http_date_becomes_the_instant_of_the_next_run(harness: Harness) -> None:
    submitted(harness, refused(("Retry-After", http_date(600))))
    harness.drain_failures("exponential")

    [wait] = waits(harness)
    assert 500 < wait <= 600


class Spent(Exception):
    """As a client of a paid service raises it."""

    status_code = 429

    def __init__(self, code: str) -> None:
        super().__init__("You exceeded your current quota, please check your plan and billing details.")
        self.code = code


@pytest.mark.parametrize(("code", "attempts"), [("insufficient_quota", 1), ("rate_limit_exceeded", 3)])
def test_a_quota_that_money_alone_refills_is_not_retried(harness: Harness, code: str, attempts: int) -> None:
    [workflow_id] = submitted(harness, Spent(code))
    harness.run_to_end(workflow_id)

    assert len(harness.attempts(workflow_id)) == attempts
    assert "billing" in harness.open_letter(workflow_id).error_message


# a conflict in the database


@pytest.fixture
def account(raw_database: Any, database_url: str) -> Iterator[str]:
    raw_database.call("create table public.account (id int primary key, cents int)")
    raw_database.call("insert into public.account values (1, 0)")
    yield database_url
    raw_database.call("drop table public.account")


def pay_by_driver(url: str, meanwhile: Callable[[], None]) -> None:
    connection = psycopg2.connect(url)
    try:
        connection.set_session(isolation_level="SERIALIZABLE")
        with connection, connection.cursor() as cursor:
            cursor.execute("select cents from account")
            meanwhile()
            cursor.execute("update account set cents = cents + 1")
    finally:
        connection.close()


def pay_by_sqlalchemy(url: str, meanwhile: Callable[[], None]) -> None:
    engine = sa.create_engine(sa.make_url(url).set(drivername="postgresql+psycopg2"))
    try:
        with engine.connect() as plain:
            connection = plain.execution_options(isolation_level="SERIALIZABLE")
            with connection.begin():
                connection.execute(sa.text("select cents from account"))
                meanwhile()
                connection.execute(sa.text("update account set cents = cents + 1"))
    finally:
        engine.dispose()


@pytest.mark.parametrize("pay", [pay_by_driver, pay_by_sqlalchemy])
def test_a_serialization_failure_is_run_again_and_never_final(
    harness: Harness, account: str, pay: Callable[[str, Callable[[], None]], None]
) -> None:
    def part(ctx: Any) -> str:
        def collide() -> None:
            if ctx.attempt <= 2:
                harness.database.call("update public.account set cents = cents + 10")

        pay(account, collide)
        return "paid"

    harness.publish(shape("one", {"a": ()}))
    harness.play(a=part)
    workflow_id = harness.submit("t/one")

    assert harness.run_to_end(workflow_id).state == "complete"
    assert [one.outcome for one in harness.attempts(workflow_id)] == ["failed", "failed", "complete"]
    assert [one.policy for one in harness.attempts(workflow_id)][:2] == ["immediate"] * 2
    assert harness.database.call("select cents from public.account") == [(21,)]


# what the dead letter says


def test_a_dead_letter_lists_every_attempt_with_its_own_error(harness: Harness) -> None:
    def part(ctx: Any) -> None:
        if ctx.attempt == 1:
            raise ConnectionError("no route to the shop")
        if ctx.attempt == 2:
            raise TimeoutError("the shop is slow")
        try:
            raise ValueError("the shop says 12,5")
        except ValueError as error:
            raise MaxRetriesExceededError("gave up") from error

    harness.publish(shape("one", {"a": ()}))
    harness.play(a=part)
    workflow_id = harness.submit("t/one")
    harness.run_to_end(workflow_id)

    attempts = harness.open_letter(workflow_id).snapshot["attempts"]
    told = [(one["attempt"], one["failure"]["error_class"], one["failure"]["message"]) for one in attempts]
    assert told[:2] == [
        (1, "builtins.ConnectionError", "no route to the shop"),
        (2, "builtins.TimeoutError", "the shop is slow"),
    ]
    assert told[2][0] == 3
    assert "the shop says 12,5" in str(attempts[2]["failure"])
    assert all(one["worker"] == "w1@test" and one["ended_at"] for one in attempts)
    ends = [datetime.fromisoformat(one["ended_at"]) for one in attempts]
    assert ends == sorted(set(ends))


# the time that retries may take


def test_no_retry_is_planned_beyond_retry_for(harness: Harness) -> None:
    retry = {"retry_for_seconds": 500, "max_attempts": 99}
    [workflow_id] = submitted(harness, NETWORK, retry=retry)
    began = harness.clock.now

    harness.run_to_end(workflow_id)

    # Due after 60, 180 and 420 s; the fourth would be due after 900 s.
    assert len(harness.attempts(workflow_id)) == 4
    assert harness.clock.now == began + timedelta(seconds=420)
    letter = harness.open_letter(workflow_id)
    assert letter.reason == "max_retries_exceeded"
    assert "retry_for_seconds (500 s)" in letter.metadata["explanation"]
    assert f"failing since {began:%Y-%m-%d %H:%M:%S} UTC" in letter.metadata["explanation"]


def test_lost_attempts_count_from_the_first_one(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}, retry={"retry_for_seconds": 45, "lost_attempts": 99}))
    workflow_id = harness.submit("t/one")
    lost = 0
    while harness.workflow(workflow_id).state != "blocked_by_failures":
        harness.new_worker().queue.claim("steps", 1)
        harness.advance(31)
        lost += harness.sweep_rescue().attempts
        harness.drain_failures("immediate")
        harness.sweep_ring()

    assert lost == 3  # after 31, 62 and 93 s: the third is later than 31 + 45
    assert harness.open_letter(workflow_id).reason == "max_retries_exceeded"


def test_an_operators_reset_gives_the_time_anew(harness: Harness) -> None:
    [workflow_id] = submitted(harness, NETWORK, retry={"retry_for_seconds": 100, "max_attempts": 99})
    harness.run_to_end(workflow_id)
    before = len(harness.attempts(workflow_id))
    harness.clock.advance(days=1)
    harness.worker.beat()

    operate.retry_step(harness.engine, workflow_id, "a", Who("ann", "the network is back"))
    assert harness.database.call("select failing_since from remand.steps") == [(None,)]
    harness.run_to_end(workflow_id)

    assert before == 2
    assert len(harness.attempts(workflow_id)) == 4


# the retry budget


def test_an_outage_becomes_no_storm(harness: Harness) -> None:
    ids = submitted(harness, NETWORK, 300)
    began = harness.clock.now
    harness.drain_failures("exponential")

    # 60 a minute are free, then one a second.
    assert waits(harness) == [60] * 61 + [60 + turn for turn in range(1, 240)]
    told = [one for one in (explanation(harness, one) for one in ids) if "budget" in one]
    assert len(told) == 239
    assert any(one.endswith("at most 20 % or 1 a second): 139 s later") for one in told)
    assert all("the retry budget of t/h is spent" in one for one in told)
    # What is due is that later instant, and it is what the attempt says.
    dues = {(harness.attempts(one)[-1].due_at or began) - began for one in ids}
    assert max(dues) == timedelta(seconds=299)


def test_what_was_put_off_is_not_lost(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=fails(NETWORK))
    ids = harness.submit_many("t/one", range(150))

    harness.run_to_end(ids[0])

    assert {str(harness.workflow(one).state) for one in ids} == {"complete"}


def test_the_share_counts_the_attempts_that_went_well(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=lambda ctx: None)
    harness.submit_many("t/one", range(600))
    while harness.drain().claimed:
        pass

    submitted(harness, NETWORK, 160)
    harness.drain_failures("exponential")

    # 760 attempts allow 152 retries in a minute, 2.53 a second.
    free = [wait for wait in waits(harness) if wait == 60]
    assert len(free) == 153
    assert waits(harness)[-1] == pytest.approx(60 + 7 * 60 / 152, abs=1e-3)


def test_the_line_goes_on_in_the_next_batch_and_ends(harness: Harness) -> None:
    submitted(harness, NETWORK, 80)
    harness.drain_failures("exponential")
    [(next_at,)] = harness.database.call("select next_at from remand.retry_budgets")
    assert next_at == harness.clock.now + timedelta(seconds=20)

    harness.advance(10)
    submitted(harness, NETWORK, 1)
    harness.drain_failures("exponential")
    assert max(waits(harness)) == 70  # 10 s are left of the line

    harness.advance(61)
    submitted(harness, NETWORK, 1)
    before = waits(harness)
    harness.drain_failures("exponential")
    assert [wait for wait in waits(harness) if wait not in before] == [60]


def test_workers_that_decide_at_once_share_one_budget(harness: Harness) -> None:
    submitted(harness, NETWORK, 240)

    def work() -> int:
        return drain_failures(harness.engine, "retry.exponential", batch=20).retried

    ends = values(together(*(work for _ in range(3))))
    ends.append(drain_failures(harness.engine, "retry.exponential").retried)

    assert sum(ends) == 240
    assert waits(harness) == [60] * 61 + [60 + turn for turn in range(1, 180)]


def test_workers_of_several_queues_and_handlers_never_wait_for_each_other_in_a_ring(harness: Harness) -> None:
    names = ["a", "b", "c", "d"]
    policies = {"network": "exponential", "resource": "linear"}
    each = {name: {"handler": f"h.{name}", "dependency": f"d.{name}"} for name in names}
    harness.publish(shape("four", dict.fromkeys(names, ()), each=each, retry={"policies": policies}))
    for place, name in enumerate(names):
        harness.handlers.add(f"h.{name}", fails(NETWORK if place % 2 else OSError(28, "No space left")))
    ids = harness.submit_many("t/four", range(60))
    while harness.drain().claimed:
        pass

    def work(queue: str) -> Callable[[], int]:
        return lambda: drain_failures(harness.engine, queue, batch=7).retried

    ends = together(*(work(queue) for queue in ["retry.exponential", "retry.linear"] * 2))
    rest = sum(drain_failures(harness.engine, f"retry.{kind}").retried for kind in ("exponential", "linear"))

    assert sum(values(ends)) + rest == len(ids) * len(names)
    assert harness.database.call(
        "select handler, sum(retries)::int from remand.traffic group by 1 order by 1"
    ) == [(f"h.{name}", 60) for name in names]


def test_every_handler_of_every_namespace_has_its_own_budget(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}, each={"b": {"handler": "other"}}))
    harness.publish(shape("two", {"a": ()}).replace('"namespace": "t"', '"namespace": "u"'))
    harness.play(a=always(NETWORK))
    harness.handlers.add("other", always(NETWORK))
    harness.submit_many("t/two", range(50))
    harness.submit_many("u/two", range(50))
    while harness.drain().claimed:
        pass

    harness.drain_failures("exponential")

    assert waits(harness) == [60] * 150
    assert harness.database.call("select namespace, handler from remand.retry_budgets order by 1, 2") == [
        ("t", "h"), ("t", "other"), ("u", "h"),
    ]  # fmt: skip
    assert harness.database.call(
        "select namespace, handler, sum(retries)::int from remand.traffic group by 1, 2 order by 1, 2"
    ) == [("t", "h", 50), ("t", "other", 50), ("u", "h", 50)]


def test_deaths_and_lost_attempts_use_no_budget(harness: Harness) -> None:
    submitted(harness, ValueError("no"), 70)
    harness.drain_failures("never")
    harness.play(a="well")
    lost = harness.submit_many("t/one", range(200))
    harness.new_worker().queue.claim("steps", 200)
    harness.advance(31)
    harness.sweep_rescue()
    harness.drain_failures("immediate")

    assert {harness.attempts(one)[-1].due_at for one in lost} == {harness.clock.now}
    assert harness.database.call("select count(*) from remand.retry_budgets") == [(0,)]


def test_counts_that_nobody_looks_back_to_are_deleted(harness_with: HarnessWith) -> None:
    harness = harness_with(retry_budget={"window_seconds": 300}, breakers={"slow": {"window_seconds": 600}})
    submitted(harness, NETWORK, 3)
    harness.drain_failures("exponential")
    harness.advance(659)
    assert forget_traffic(harness.engine) == 0

    harness.advance(2)

    assert forget_traffic(harness.engine) == 1
    assert harness.database.call("select count(*) from remand.traffic") == [(0,)]


def test_a_servers_word_is_kept_when_the_budget_is_spent(harness: Harness) -> None:
    submitted(harness, RateLimited("slow down", retry_after=1000), 100)
    harness.drain_failures("exponential")

    assert min(waits(harness)) == 1000
    assert max(waits(harness)) == 1039


def test_the_budget_costs_two_statements_a_batch(harness: Harness) -> None:
    seen: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        seen.append(statement)

    submitted(harness, NETWORK, 100)
    sa.event.listen(harness.database.engine, "before_cursor_execute", note)
    try:
        harness.drain_failures("exponential")
    finally:
        sa.event.remove(harness.database.engine, "before_cursor_execute", note)

    assert sum("retry_budgets" in one or "lock_budgets" in one for one in seen) == 2
    assert sum("insert into remand.traffic" in one for one in seen) == 1
