"""What is over goes after its days, the oldest first; what is not over stays for ever. Source: D6."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from remand.errors import PermanentError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import DeadLetterNotFound, GroupNotFound
from remand_app.engine import redrive
from remand_app.engine.operate import Who, give_up_letter, note_letter, requeue_letter
from remand_app.engine.operate.groups import claim_group, note_group, resolve_group
from remand_app.engine.redrive import Options
from remand_app.engine.statistics import statistics
from remand_app.engine.sweeps.prune import Pruned, outlook, prune
from remand_app.engine.sweeps.redrive import redrive as sweep_redrive
from remand_app.store import dead_letters, groups
from remand_app.store.database import Database
from tests.support.engine import Harness
from tests.support.invariants import check_invariants
from tests.support.shapes import CHAIN, always, shape
from tests.support.threads import together, values

ANN = Who("ann", "no use")
NOTHING = Pruned({}, is_finished=True)
HarnessWith = Callable[..., Harness]


def keeping(harness_with: HarnessWith, **days: int) -> Harness:
    return harness_with(retention=days)


def sweep(harness: Harness, **options: int) -> Pruned:
    swept = prune(harness.engine, **options)
    check_invariants(harness.database)
    return swept


def fail(harness: Harness, count: int = 1) -> list[UUID]:
    """Letters of workflows that failed, oldest first."""
    harness.publish(shape("one", {"a": ()}))
    harness.play(a=always(PermanentError("no")))
    flows = harness.submit_many("t/one", range(count))
    harness.run_until_quiet()
    return [harness.open_letter(flow).id for flow in flows]


def letters_of(database: Database) -> set[UUID]:
    return {row[0] for row in database.call("select id from remand.dead_letters")}


def test_a_closed_letter_goes_with_its_notes_an_open_one_never(harness_with: HarnessWith) -> None:
    harness = keeping(harness_with, letters_days=10)
    closed, claimed, untouched = fail(harness, 3)
    note_letter(harness.engine, closed, "looked at", ANN)
    give_up_letter(harness.engine, closed, ANN)
    harness.advance(days=10)
    assert "dead_letters" not in sweep(harness).rows

    harness.advance(seconds=1)

    assert sweep(harness).rows["dead_letters"] == 1
    assert letters_of(harness.database) == {claimed, untouched}
    with pytest.raises(DeadLetterNotFound):
        dead_letters.get_dead_letter(harness.database, closed)
    assert harness.database.call("select count(*) from remand.dead_letter_notes")[0][0] == 0
    harness.advance(days=30_000)
    assert "dead_letters" not in sweep(harness).rows


def test_a_letter_of_a_workflow_under_way_stays(harness_with: HarnessWith) -> None:
    """Its automatic requeues are counted by it."""
    harness = keeping(harness_with, letters_days=10)
    harness.publish(shape("chain", CHAIN))
    first, *_ = list(CHAIN)
    harness.play(**{first: always(PermanentError("no"))})
    flow = harness.submit("t/chain")
    harness.run_until_quiet()
    redriven = harness.open_letter(flow).id
    harness.play(**{first: always(PermanentError("still"))})
    requeue_letter(harness.engine, redriven, ANN)
    harness.run_until_quiet()
    harness.advance(days=11)

    assert "dead_letters" not in sweep(harness).rows

    give_up_letter(harness.engine, harness.open_letter(flow).id, ANN)
    assert sweep(harness).rows == {"dead_letters": 1}


def test_the_figures_stay_true(harness_with: HarnessWith) -> None:
    harness = keeping(harness_with, letters_days=1)
    letters = fail(harness, 5)
    for one in letters[:3]:
        give_up_letter(harness.engine, one, ANN)
    harness.advance(days=2)
    before = statistics(harness.engine)

    sweep(harness, batch=2)

    after = statistics(harness.engine)
    assert (after.open, after.opened, after.closed) == (before.open, before.opened, before.closed)
    counted = {one.name: one.now for one in after.by_status if one.now}
    assert counted == {"pending": len(letters_of(harness.database))} == {"pending": 2}


def test_zero_days_are_for_ever(harness_with: HarnessWith) -> None:
    harness = keeping(harness_with, letters_days=0, groups_days=0, hours_days=0, audit_days=0, workers_days=0)
    give_up_letter(harness.engine, fail(harness)[0], ANN)
    harness.clock.advance(days=30_000)

    assert sweep(harness) == NOTHING
    assert all(one.days is None for one in outlook(harness.engine) if one.setting == "letters_days")


@pytest.mark.parametrize("resolved", [True, False])
def test_a_group_goes_when_its_letters_are_gone_and_nobody_has_it(
    harness_with: HarnessWith, resolved: bool
) -> None:
    harness = keeping(harness_with, letters_days=30, groups_days=10)
    [letter] = fail(harness)
    group = dead_letters.get_dead_letter(harness.database, letter).group_id
    give_up_letter(harness.engine, letter, ANN)
    note_group(harness.engine, group, "the vendor's fault", ANN)
    if resolved:
        resolve_group(harness.engine, group, ANN)
    harness.advance(days=29)
    assert "dead_letter_groups" not in sweep(harness).rows
    assert groups.get_group(harness.database, group).letters == 1

    harness.advance(days=2)

    assert sweep(harness).rows.items() >= {"dead_letters": 1, "dead_letter_groups": 1}.items()
    with pytest.raises(GroupNotFound):
        groups.get_group(harness.database, group)
    assert fail(harness), "the cause makes a new group when it comes back"


def test_a_group_that_somebody_has_stays(harness_with: HarnessWith) -> None:
    harness = keeping(harness_with, letters_days=1, groups_days=1)
    [letter] = fail(harness)
    group = dead_letters.get_dead_letter(harness.database, letter).group_id
    claim_group(harness.engine, group, ANN)
    give_up_letter(harness.engine, letter, ANN)
    harness.advance(days=9)

    assert "dead_letter_groups" not in sweep(harness).rows
    assert groups.get_group(harness.database, group).owner == "ann"


def test_a_redrive_goes_with_its_items_once_it_has_ended(harness_with: HarnessWith) -> None:
    harness = keeping(harness_with, redrives_days=10)
    fail(harness, 3)
    harness.play()
    plan = redrive.plan(harness.engine, LetterFilter(template="one"), ANN, Options())
    one = redrive.start(harness.engine, plan.redrive.id, ANN).id
    sweep_redrive(harness.engine)
    harness.advance(days=100)
    assert not {"redrives", "redrive_items"} & sweep(harness).rows.keys()
    harness.bell.take()
    harness.run_until_quiet()
    sweep_redrive(harness.engine)
    harness.advance(days=10, seconds=1)

    assert sweep(harness, batch=2).rows.items() >= {"redrives": 1, "redrive_items": 3}.items()
    assert harness.database.call("select count(*) from remand.redrives where id = %s", (one,)) == [(0,)]


def test_two_at_once_share_the_work(harness_with: HarnessWith) -> None:
    harness = keeping(harness_with, letters_days=1)
    for letter in fail(harness, 12):
        give_up_letter(harness.engine, letter, ANN)
    harness.advance(days=2)

    swept = values(together(*[lambda: prune(harness.engine, 3)] * 2))

    assert sum(one.rows.get("dead_letters", 0) for one in swept) <= 12
    sweep(harness)
    assert letters_of(harness.database) == set()
    assert statistics(harness.engine).opened == 12


def test_it_stops_when_its_time_is_up_and_the_next_one_goes_on(harness_with: HarnessWith) -> None:
    harness = harness_with(retention={"letters_days": 1}, prune_budget_seconds=5)
    for letter in fail(harness, 6):
        give_up_letter(harness.engine, letter, ANN)
    harness.advance(days=2)
    ticks = iter(range(0, 1000, 5))

    cut = prune(harness.engine, 2, monotonic=lambda: next(ticks))

    assert not cut.is_finished
    assert len(letters_of(harness.database)) >= 4
    assert sweep(harness).is_finished
    assert letters_of(harness.database) == set()
