"""No setting of retention is inert: a row of five days goes at four of them, and stays at six."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from remand_app.engine.sweeps.prune import prune
from remand_app.store.ids import new_id
from tests.support.engine import Harness

HarnessWith = Callable[..., Harness]
EITHER = pytest.mark.parametrize(("days", "goes"), [(4, True), (6, False), (0, False)])

GROUP = (
    "insert into remand.dead_letter_groups (id, fingerprint, cause, namespace, template, version, step,"
    " handler, error_class, message, category, state, state_since, first_at, last_at)"
    " values (%(id)s, 'f', 'c', 't', 'one', '1', 'a', 'h', 'E', 'm', 'permanent', 'open',"
    " %(at)s, %(at)s, %(at)s)"
)
LETTER = (
    "insert into remand.dead_letters (id, workflow_id, source, source_id, namespace, template, version, step,"
    " handler, queue, dead_queue, group_id, attempts, reason, category, policy, rule, error_class,"
    " error_message, worker, status, opened_at, triage_at, closed_by, closed_at, snapshot)"
    " values (%(id)s, %(id)s, 'step', 's', 't', 'one', '1', 'a', 'h', 'steps', 'default', %(id)s, 1,"
    " 'permanent_failure', 'permanent', 'never', 'r', 'E', 'm', 'w', 'cancelled', %(at)s, %(at)s, 'ann',"
    " %(at)s, '{}')"
)


def pruned(harness_with: HarnessWith, table: str, setting: str, days: int, *statements: str) -> bool:
    """Say whether the one row of a table, of five days, goes at that many."""
    harness = harness_with(retention={setting: days})
    at = harness.clock.now
    with harness.database.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, {"id": new_id(), "at": at} if "%" in statement else None)
    harness.clock.advance(days=5)

    gone = prune(harness.engine).rows

    assert harness.database.call(f"select count(*) from remand.{table}") == [(0 if table in gone else 1,)]
    return gone == {table: 1}


@EITHER
def test_retention_letters_days_keeps_closed_letters(
    harness_with: HarnessWith, days: int, goes: bool
) -> None:
    harness = harness_with(retention={"letters_days": days})
    with harness.database.cursor() as cursor:
        for statement in (GROUP, LETTER):
            cursor.execute(statement, {"id": harness.worker.id, "at": harness.clock.now})
    harness.clock.advance(days=5)

    assert (prune(harness.engine).rows == {"dead_letters": 1}) is goes


@EITHER
def test_retention_groups_days_keeps_groups(harness_with: HarnessWith, days: int, goes: bool) -> None:
    assert pruned(harness_with, "dead_letter_groups", "groups_days", days, GROUP) is goes


@EITHER
def test_retention_hours_days_keeps_the_trend(harness_with: HarnessWith, days: int, goes: bool) -> None:
    hour = "insert into remand.dead_letter_hours (group_id, hour, opened) values (%(id)s, %(at)s, 1)"
    assert pruned(harness_with, "dead_letter_hours", "hours_days", days, hour) is goes


@EITHER
def test_retention_redrives_days_keeps_redrives(harness_with: HarnessWith, days: int, goes: bool) -> None:
    one = (
        "insert into remand.redrives (id, state, state_since, verb, selection, described, planned_at,"
        " planned_by, started_at, started_by, ended_at, include_claimed, canary, success_share)"
        " values (%(id)s, 'finished', %(at)s, 'requeue', '{}', 'all', %(at)s, 'ann', %(at)s, 'ann', %(at)s,"
        " false, '{}', 1)"
    )
    assert pruned(harness_with, "redrives", "redrives_days", days, one) is goes


@EITHER
def test_retention_audit_days_keeps_the_audit_log(harness_with: HarnessWith, days: int, goes: bool) -> None:
    entry = (
        'insert into remand.audit_log (id, at, "by", via, verb, kind, subject)'
        " values (%(id)s, %(at)s, 'ann', 'cli', 'queue.pause', 'queue', 'steps')"
    )
    assert pruned(harness_with, "audit_log", "audit_days", days, entry) is goes


@EITHER
@pytest.mark.parametrize(
    ("table", "one"),
    [
        (
            "sessions",
            (
                "insert into remand.sessions (token_hash, name, role, created_at, seen_at, expires_at)"
                " values ('x', 'ann', 'viewer', %(at)s, %(at)s, %(at)s)"
            ),
        ),
        (
            "login_codes",
            (
                "insert into remand.login_codes (code_hash, name, role, expires_at)"
                " values ('x', 'ann', 'viewer', %(at)s)"
            ),
        ),
        (
            "api_tokens",
            (
                "insert into remand.api_tokens (id, name, token_hash, hint, role, created_at, created_by,"
                " revoked_at) values (%(id)s, 'ci', 'x', 'rm', 'viewer', %(at)s, 'ann', %(at)s)"
            ),
        ),
    ],
)
def test_retention_access_days_keeps_what_let_people_in(
    harness_with: HarnessWith, table: str, one: str, days: int, goes: bool
) -> None:
    assert pruned(harness_with, table, "access_days", days, one) is goes


@EITHER
def test_retention_workers_days_keeps_stopped_workers(
    harness_with: HarnessWith, days: int, goes: bool
) -> None:
    one = (
        "insert into remand.workers (id, hostname, pid, queues, pool, concurrency, version, lock_key,"
        " started_at, heartbeat_at, stopped_at)"
        " values (%(id)s, 'w', 1, '{}', 'solo', 1, '1', 1, %(at)s, %(at)s, %(at)s)"
    )
    assert pruned(harness_with, "workers", "workers_days", days, one) is goes


@EITHER
def test_retention_breakers_days_keeps_moves_of_breakers(
    harness_with: HarnessWith, days: int, goes: bool
) -> None:
    move = (
        'insert into remand.breaker_moves (name, from_state, event, to_state, at, "by")'
        " select 'h', from_state, event, to_state, %(at)s, 'ann' from remand.transition_rule"
        " where kind = 'breaker' limit 1"
    )
    assert pruned(harness_with, "breaker_moves", "breakers_days", days, move) is goes


@EITHER
def test_retention_unclassified_days_keeps_failures_without_a_rule(
    harness_with: HarnessWith, days: int, goes: bool
) -> None:
    one = (
        "insert into remand.unclassified (fingerprint, error_class, message, count, first_at, last_at,"
        " workflow_id, step, attempt, handler) values ('f', 'E', 'm', 1, %(at)s, %(at)s, %(id)s, 'a', 1, 'h')"
    )
    assert pruned(harness_with, "unclassified", "unclassified_days", days, one) is goes


@pytest.mark.parametrize(("seconds", "left"), [(1, 18), (1000, 0)])
def test_prune_budget_seconds_is_when_a_sweep_leaves_the_rest(
    harness_with: HarnessWith, seconds: float, left: int
) -> None:
    harness = harness_with(prune_budget_seconds=seconds)
    harness.database.call(
        "insert into remand.dead_letter_hours (group_id, hour, opened)"
        " select gen_random_uuid(), %s, 1 from generate_series(1, 20)",
        (harness.clock.now,),
    )
    harness.clock.advance(days=1000)
    ticks = iter(range(1000))

    prune(harness.engine, 1, monotonic=lambda: next(ticks) / 4)

    [(rows,)] = harness.database.call("select count(*) from remand.dead_letter_hours")
    assert rows == left
