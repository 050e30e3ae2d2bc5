"""Figures of the dead letter queue: true after every change, in whatever order. Source: C11."""

from __future__ import annotations

import random
import threading

from remand.errors import PermanentError, RetryableError
from remand_app.domain.group_filter import GroupFilter
from remand_app.engine.operate import (
    Who,
    cancel_letter,
    claim_letter,
    give_up_letter,
    requeue_letter,
    resolve_letter,
)
from remand_app.engine.statistics import statistics
from remand_app.store import group_counts, group_search
from tests.support.engine import Harness
from tests.support.shapes import always, shape

ANN = Who("ann")
VERBS = (claim_letter, requeue_letter, resolve_letter, give_up_letter, cancel_letter)


def recount(harness: Harness) -> dict[str, int]:
    rows = harness.database.call("select status, count(*) from remand.dead_letters group by 1")
    return {row[0]: row[1] for row in rows}


def fail(harness: Harness, count: int) -> None:
    harness.publish(shape("one", {"a": ()}, retry={"max_attempts": 1}))
    harness.play(a=always(PermanentError("no")))
    harness.submit_many("t/one", range(count))
    harness.run_until_quiet()


def test_an_empty_queue_has_figures_too(harness: Harness) -> None:
    told = statistics(harness.engine)

    assert (told.open, told.opened, told.closed, told.mean_seconds_to_close) == (0, 0, 0, None)
    assert [(one.name, one.open, one.share) for one in told.dead_queues] == [("default", 0, 0.0)]
    assert told.opened_by_hour == [0] * 24


def test_letters_are_counted_by_what_they_are(harness: Harness) -> None:
    fail(harness, 3)
    harness.play(a=always(RetryableError("busy")))
    harness.submit_many("t/one", range(2))
    harness.run_until_quiet()

    told = statistics(harness.engine)

    assert {one.name: one.open for one in told.by_reason} == {
        "permanent_failure": 3,
        "max_retries_exceeded": 2,
    }
    assert {one.name: one.open for one in told.by_category} == {"permanent": 3, "transient": 2}
    assert {one.name: one.open for one in told.by_policy} == {"never": 3, "exponential": 2}
    assert [(one.name, one.open) for one in told.by_template] == [("t/one", 5)]
    assert (told.open, told.unclaimed, told.opened) == (5, 5, 5)
    assert told.opened_by_hour[-1] == 5
    assert told.oldest_open_at == harness.clock.now
    assert statistics(harness.engine, namespace="other").open == 0


def test_the_mean_time_to_close_is_that_of_what_was_closed(harness: Harness) -> None:
    fail(harness, 3)
    letters = [row[0] for row in harness.database.call("select id from remand.dead_letters order by id")]
    harness.advance(60)
    resolve_letter(harness.engine, letters[0], ANN)
    harness.advance(120)
    cancel_letter(harness.engine, letters[1], ANN)

    told = statistics(harness.engine)

    assert told.mean_seconds_to_close == (60 + 180) / 2
    assert (told.open, told.closed) == (1, 2)
    [status] = [one for one in told.by_status if one.name == "cancelled"]
    assert (status.now, status.mean_seconds_to_close) == (1, 180)


def test_counts_are_those_of_the_rows_after_any_changes_by_many_at_once(harness: Harness) -> None:
    fail(harness, 24)
    letters = [row[0] for row in harness.database.call("select id from remand.dead_letters")]
    harness.play()

    def act(number: int) -> None:
        for letter in letters[number::3]:
            random.Random(str(letter)).choice(VERBS)(harness.engine, letter, ANN)
            group_counts.fold(harness.database)

    threads = [threading.Thread(target=act, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    told = statistics(harness.engine)
    assert {one.name: one.now for one in told.by_status if one.now} == recount(harness)
    [group] = group_search.list_page(harness.database, GroupFilter(states=())).items
    assert (group.letters, group.open_letters) == (24, told.open)
    assert harness.database.call("select count(*) from remand.dead_letter_deltas") == [(0,)]


def test_one_statement_may_change_many_letters(harness: Harness) -> None:
    fail(harness, 6)
    harness.database.call("update remand.dead_letters set status = 'investigating', claimed_by = 'x'")

    told = statistics(harness.engine)

    assert (told.open, told.unclaimed, told.closed) == (6, 0, 0)
    assert {one.name: one.now for one in told.by_status if one.now} == {"investigating": 6}


def test_the_figures_of_a_namespace_are_only_its_own(harness: Harness) -> None:
    fail(harness, 2)

    told = statistics(harness.engine, namespace="elsewhere")

    assert (told.open, told.opened, told.oldest_open_at, told.opened_by_hour) == (0, 0, None, [0] * 24)
    assert sum(statistics(harness.engine, namespace="t").opened_by_hour) == 2
