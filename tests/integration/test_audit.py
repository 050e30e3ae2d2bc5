"""The audit log: what people decide about queues and breakers is in it, and it is found again."""

from __future__ import annotations

import pytest

from remand_app.domain.access import Role
from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.errors import InputInvalid, QueueNotFound
from remand_app.engine import access
from remand_app.engine.operate import Who
from remand_app.engine.operate.breakers import close_breaker, open_breaker, reset_breaker
from remand_app.engine.pauses import pause_queue, resume_queue
from remand_app.resources import audit
from remand_app.resources.audit import Written
from tests.support.engine import Harness


def entries(harness: Harness, **wanted: object) -> list[Written]:
    return audit.list_page(harness.database, AuditFilter(**wanted)).items  # type: ignore[arg-type]


def test_verbs_on_breakers_are_audited_with_the_move(harness: Harness) -> None:
    open_breaker(harness.engine, "crm", by="ann", reason="their night", seconds=60, via="api")
    close_breaker(harness.engine, "crm", by="bob", via="dashboard")
    reset_breaker(harness.engine, "crm", by="bob")

    found = entries(harness, kind="breaker", subject="crm")
    assert [(one.verb, one.by, one.via, one.reason) for one in found] == [
        ("breaker.reset", "bob", "cli", None),
        ("breaker.close", "bob", "dashboard", None),
        ("breaker.open", "ann", "api", "their night"),
    ]
    assert found[-1].before == {"state": "closed"}
    assert found[-1].after == {"state": "open", "probe_at": harness.clock.now.replace(minute=1).isoformat()}


def test_verbs_on_queues_are_audited_if_they_change_something(harness: Harness) -> None:
    pause_queue(harness.engine, "retry.linear", by="ann", reason="deploy", via="api")
    pause_queue(harness.engine, "retry.linear", by="bob")
    resume_queue(harness.engine, "retry.linear", by="bob", reason="done")
    resume_queue(harness.engine, "retry.linear", by="bob")
    with pytest.raises(QueueNotFound):
        pause_queue(harness.engine, "nowhere", by="ann")

    found = entries(harness, verb="queue")
    assert [(one.verb, one.subject, one.by, one.via, one.reason) for one in found] == [
        ("queue.resume", "retry.linear", "bob", "cli", "done"),
        ("queue.pause", "retry.linear", "ann", "api", "deploy"),
    ]
    assert found[0].before["by"] == "ann"


def test_entries_are_found_by_person_verb_subject_and_time(harness: Harness) -> None:
    access.create_token(harness.engine, "one", Role.VIEWER, Who("ann"))
    harness.advance(hours=1)
    access.create_token(harness.engine, "two", Role.VIEWER, Who("bob"))
    access.revoke_token(harness.engine, "one", Who("bob"))

    def names(**wanted: object) -> list[str]:
        return [f"{one.verb} {one.subject}" for one in entries(harness, **wanted)]

    assert names() == ["token.revoke one", "token.create two", "token.create one"]
    assert names(by="ann") == ["token.create one"]
    assert names(verb="token") == names()
    assert names(verb="token.create") == ["token.create two", "token.create one"]
    assert names(verb="tok") == names(verb="token.%") == []
    assert names(subject="one", kind="token") == ["token.revoke one", "token.create one"]
    assert names(since=harness.clock.now) == ["token.revoke one", "token.create two"]


def test_pages_follow_each_other_while_new_entries_come(harness: Harness) -> None:
    for number in range(5):
        access.create_token(harness.engine, f"t{number}", Role.VIEWER, Who("ann"))

    first = audit.list_page(harness.database, AuditFilter(), limit=2)
    access.create_token(harness.engine, "late", Role.VIEWER, Who("ann"))
    second = audit.list_page(harness.database, AuditFilter(), after=first.next, limit=2)
    third = audit.list_page(harness.database, AuditFilter(), after=second.next, limit=2)

    assert [one.subject for page in (first, second, third) for one in page.items] == [
        "t4",
        "t3",
        "t2",
        "t1",
        "t0",
    ]
    assert third.next is None
    with pytest.raises(InputInvalid, match="no cursor"):
        audit.list_page(harness.database, AuditFilter(), after="x")
