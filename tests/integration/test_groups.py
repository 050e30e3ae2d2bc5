"""Groups of dead letters: one cause, one conversation, that goes on when it comes back. Source: C8, C15."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.errors import GroupNotFound, IllegalMove, InputInvalid
from remand_app.domain.group_filter import GroupFilter
from remand_app.domain.states import GroupState
from remand_app.engine.operate import Who, give_up_letter, requeue_letter, retry_step
from remand_app.engine.operate import groups as verbs
from remand_app.resources.audit import list_page as audited
from remand_app.store import group_counts, group_search, groups
from remand_app.store.groups import Group
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape

ANN, BEN = Who("ann", "the key had expired; it is rotated"), Who("ben")


def fail(
    harness: Harness, count: int = 3, message: str = "card 4711 is declined", version: str = "1"
) -> list[UUID]:
    harness.publish(shape("pay", {"charge": ()}, version=version))
    harness.play(charge=always(PermanentError(message)))
    made = harness.submit_many(f"t/pay:{version}", range(count))
    harness.run_until_quiet()
    return made


def listed(harness: Harness, **wanted: object) -> list[Group]:
    group_counts.fold(harness.database)
    return group_search.list_page(harness.database, GroupFilter(**wanted)).items  # type: ignore[arg-type]


def mend(harness: Harness, workflows: list[UUID]) -> None:
    harness.play()
    for workflow in workflows:
        requeue_letter(harness.engine, harness.open_letter(workflow).id, BEN)
    harness.run_until_quiet()


def test_letters_with_one_cause_are_one_group_whatever_their_values(harness: Harness) -> None:
    fail(harness, 3, "card 4711 is declined")
    fail(harness, 2, "card 12 is declined")

    [group] = listed(harness)

    assert (group.letters, group.open_letters, group.state) == (5, 5, GroupState.OPEN)
    assert (group.ref, group.step, group.message) == ("t/pay:1", "charge", "card <n> is declined")
    assert group.first_at <= group.last_at


def test_other_causes_steps_and_versions_are_other_groups(harness: Harness) -> None:
    fail(harness, 1)
    fail(harness, 1, "the bank is closed")
    fail(harness, 1, version="2")

    found = listed(harness)

    assert len(found) == 3
    same = [one for one in found if one.message == "card <n> is declined"]
    assert {one.version for one in same} == {"1", "2"}
    assert [one.id for one in groups.earlier(harness.database, same[0])] == [same[1].id]


def test_what_is_wrapped_into_one_error_stays_two_causes(harness: Harness) -> None:
    harness.publish(shape("pay", {"charge": ()}))

    def charge(ctx: Any) -> None:
        try:
            raise (TimeoutError if ctx.input % 2 else PermissionError)(f"after {ctx.input} s")
        except OSError as error:
            raise PermanentError("not paid") from error

    harness.play(charge=charge)
    harness.submit_many("t/pay", range(6))
    harness.run_until_quiet()

    assert [one.letters for one in listed(harness)] == [3, 3]


def test_a_group_counts_what_is_closed(harness: Harness) -> None:
    workflows = fail(harness, 3)
    mend(harness, workflows[:2])

    [group] = listed(harness)

    assert (group.letters, group.open_letters) == (3, 1)
    assert verbs.standing(harness.engine, group.id).statuses == {"requeued": 2, "pending": 1}
    check_invariants(harness.database)


def test_a_group_shows_its_trend_and_whom_it_hit(harness: Harness) -> None:
    fail(harness, 2)
    harness.advance(hours=2)
    harness.play()
    harness.submit_many("t/pay", range(6))
    harness.run_until_quiet()
    fail(harness, 2)
    [group] = listed(harness)

    shown = verbs.standing(harness.engine, group.id)

    assert (shown.trend[-3], shown.trend[-2], shown.trend[-1]) == (2, 0, 2)
    assert shown.hit_share is not None
    assert 0 < shown.hit_share <= 0.4


def test_somebody_takes_a_group_and_nobody_else_does(harness: Harness) -> None:
    fail(harness)
    [group] = listed(harness)

    taken = verbs.claim_group(harness.engine, group.id, ANN)

    assert (taken.state, taken.owner) == (GroupState.INVESTIGATING, "ann")
    assert verbs.claim_group(harness.engine, group.id, ANN) == taken
    with pytest.raises(IllegalMove, match="with ann since"):
        verbs.claim_group(harness.engine, group.id, BEN)
    with pytest.raises(IllegalMove, match="with ann, not with ben"):
        verbs.release_group(harness.engine, group.id, BEN)
    assert verbs.assign_group(harness.engine, group.id, "cia", BEN, take_over=True).owner == "cia"
    assert verbs.release_group(harness.engine, group.id, Who("cia")).state is GroupState.OPEN
    verbs_told = [one.verb for one in audited(harness.database, AuditFilter(kind="group")).items]
    assert verbs_told == ["group.release", "group.assign", "group.claim"]


def test_a_group_gets_a_day_and_notes(harness: Harness) -> None:
    fail(harness)
    [group] = listed(harness)
    due = harness.clock.now + timedelta(hours=4)

    assert verbs.set_due(harness.engine, group.id, due, ANN).due_at == due
    verbs.note_group(harness.engine, group.id, " the bank answers 402 ", BEN)

    notes = groups.notes_of_group(harness.database, group.id)
    assert [(one.author, one.text) for one in notes][-1] == ("ben", "the bank answers 402")
    with pytest.raises(InputInvalid, match="needs text"):
        verbs.note_group(harness.engine, group.id, "  ", BEN)


def test_a_group_is_resolved_when_its_letters_are_and_it_is_said_how(harness: Harness) -> None:
    workflows = fail(harness, 2)
    [group] = listed(harness)
    with pytest.raises(InputInvalid, match="say how"):
        verbs.resolve_group(harness.engine, group.id, BEN)
    with pytest.raises(IllegalMove, match="2 of its letters are open"):
        verbs.resolve_group(harness.engine, group.id, ANN)
    mend(harness, workflows)

    resolved = verbs.resolve_group(harness.engine, group.id, ANN)

    assert (resolved.state, resolved.resolved_by, resolved.resolution) == (
        GroupState.RESOLVED,
        "ann",
        ANN.reason,
    )
    assert listed(harness) == []
    assert [one.id for one in listed(harness, states=())] == [group.id]
    with pytest.raises(IllegalMove, match="ann resolved it"):
        verbs.claim_group(harness.engine, group.id, BEN)


def test_a_resolved_group_reopens_when_its_cause_comes_back_and_names_who_resolved_it(
    harness: Harness,
) -> None:
    mend(harness, fail(harness, 1))
    [group] = listed(harness)
    verbs.resolve_group(harness.engine, group.id, ANN)

    fail(harness, 2)

    [again] = listed(harness)
    assert (again.id, again.state, again.reopenings, again.owner) == (group.id, GroupState.OPEN, 1, None)
    assert (again.letters, again.open_letters) == (3, 2)
    last = groups.notes_of_group(harness.database, group.id)[-1]
    assert last.author == "remand"
    assert "ann had resolved it" in last.text
    assert "rotated" in last.text


def test_reopening_by_hand_is_possible_and_harmless_twice(harness: Harness) -> None:
    mend(harness, fail(harness, 1))
    [group] = listed(harness)
    verbs.resolve_group(harness.engine, group.id, ANN)

    for _ in range(2):
        assert verbs.reopen_group(harness.engine, group.id, BEN).reopenings == 1


def test_a_letter_that_is_opened_while_its_group_is_resolved_reopens_it(harness: Harness) -> None:
    mend(harness, fail(harness, 1))
    [group] = listed(harness)
    harness.play(charge=always(PermanentError("card 1 is declined")))
    harness.submit_many("t/pay", range(20))
    harness.drain()
    barrier = threading.Barrier(2)
    complaints: list[BaseException] = []

    def resolve() -> None:
        barrier.wait()
        try:
            verbs.resolve_group(harness.engine, group.id, ANN)
        except IllegalMove as refused:
            complaints.append(refused)

    thread = threading.Thread(target=resolve)
    thread.start()
    barrier.wait()
    harness.drain_failures("never")
    thread.join()

    [again] = listed(harness)
    assert (again.open_letters, again.state) == (20, GroupState.OPEN)


def test_groups_come_in_pages_by_age_or_by_size(harness: Harness) -> None:
    for number, word in enumerate(("alpha", "beta", "gamma", "delta")):
        fail(harness, 1 + number % 3, f"{word} is wrong")
        harness.advance(60)
    group_counts.fold(harness.database)

    for order, expected in (("recent", "delta gamma beta alpha"), ("largest", "gamma beta")):
        found: list[str] = []
        after = None
        while True:
            page = group_search.list_page(harness.database, GroupFilter(order=order), after=after, limit=1)
            found += [one.message.split()[0] for one in page.items]
            after = page.next
            if after is None:
                break
        assert len(found) == 4
        assert " ".join(found).startswith(expected)
    with pytest.raises(InputInvalid, match="no cursor"):
        group_search.list_page(harness.database, after="nonsense")
    with pytest.raises(InputInvalid, match="no order"):
        group_search.list_page(harness.database, GroupFilter(order="pretty"))


def test_a_group_is_found_by_enough_of_its_id(harness: Harness) -> None:
    fail(harness)
    [group] = listed(harness)

    assert groups.find_group(harness.database, str(group.id)[:13]).id == group.id
    assert groups.find_group(harness.database, str(group.id)[-6:]).id == group.id
    with pytest.raises(GroupNotFound):
        groups.find_group(harness.database, "0" * 12)


def test_a_letter_that_is_taken_up_again_reopens_its_group(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}))
    harness.play(a=always(PermanentError("shut")), b=always(PermanentError("shut")))
    workflow = harness.submit("t/two", 1)
    harness.run_until_quiet()
    letter = harness.open_letter(workflow)
    give_up_letter(harness.engine, letter.id, BEN)
    verbs.resolve_group(harness.engine, letter.group_id, ANN)
    harness.play()

    retry_step(harness.engine, workflow, "b", BEN)

    assert harness.open_letter(workflow).id == letter.id
    group = groups.get_group(harness.database, letter.group_id)
    assert (group.state, group.reopenings) == (GroupState.OPEN, 1)
    assert "ann had resolved it" in groups.notes_of_group(harness.database, group.id)[-1].text
    check_invariants(harness.database)


def test_a_letter_that_is_taken_up_while_its_group_is_resolved_reopens_it(harness: Harness) -> None:
    harness.publish(shape("two", {"a": (), "b": ()}))
    harness.play(a=always(PermanentError("shut")), b=always(PermanentError("shut")))
    workflow = harness.submit("t/two", 1)
    harness.run_until_quiet()
    letter = harness.open_letter(workflow)
    give_up_letter(harness.engine, letter.id, BEN)
    harness.play()
    thread = threading.Thread(target=retry_step, args=(harness.engine, workflow, "b", BEN))

    with harness.database.begin() as connection:  # as resolve_group does, a little slower
        groups.lock_group(connection, letter.group_id)
        thread.start()
        thread.join(0.3)
        now = harness.clock.now
        resolved = {"state": GroupState.RESOLVED, "resolved_at": now, "resolved_by": "ann"}
        groups.change_group(connection, letter.group_id, **resolved)
    thread.join()

    assert harness.open_letter(workflow).id == letter.id
    assert groups.get_group(harness.database, letter.group_id).state is GroupState.OPEN
