"""Bulk verbs on dead letters: the exact set, canaries, rates, outcomes, what people may do on the way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from remand import PermanentError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import IllegalMove, InputInvalid, RedriveNotFound, Unfiltered
from remand_app.domain.redrive import Redrive, RedriveVerb
from remand_app.engine import redrive
from remand_app.engine.operate import Who, claim_letter, requeue_letter, resolve_letter
from remand_app.engine.redrive import Options, Plan
from remand_app.engine.sweeps.redrive import redrive as sweep
from remand_app.resources import audit
from remand_app.store.ids import new_id
from tests.support.engine import Harness, make_engine
from tests.support.invariants import check_invariants
from tests.support.shapes import shape

ANN, BOB = Who("ann", "the gateway is up again"), Who("bob", "mine")
NO = PermanentError("card declined")
ALL = LetterFilter(template="two")
MAINTENANCE = "remand.maintenance"


class Shop:
    """Workflows a → b whose step b fails while the gateway is down for them."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.engine = harness.engine
        self.refused = set(range(10_000))
        harness.publish(shape("two", {"a": (), "b": "a"}))
        harness.play(b=self._charge)

    def _charge(self, ctx: Any) -> str:
        if ctx.input["n"] in self.refused:
            raise NO
        return "charged"

    def repair(self, *but: int) -> None:
        """Let the gateway accept everything but these."""
        self.refused = set(but)

    def fail(self, count: int) -> list[UUID]:
        """Let workflows die; return their letters in the order in which they were opened."""
        self.harness.submit_many("t/two", [{"n": number} for number in range(count)])
        self.harness.run_until_quiet()
        rows = self.harness.database.call(
            "select id from remand.dead_letters where status = 'pending' order by id"
        )
        return [row[0] for row in rows][-count:]

    def plan(self, selection: LetterFilter = ALL, **options: Any) -> Plan:
        return redrive.plan(self.engine, selection, ANN, Options(**options))

    def start(self, selection: LetterFilter = ALL, **options: Any) -> UUID:
        return redrive.start(self.engine, self.plan(selection, **options).redrive.id, ANN).id

    def sweep(self) -> int:
        """Sweep once; return how many letters were dealt with."""
        done = sweep(self.engine).dealt_with
        self.harness.bell.rings = [one for one in self.harness.bell.rings if one != MAINTENANCE]
        return done

    def work(self) -> None:
        """Let workers and sweep take turns until nothing moves."""
        for _ in range(20):
            self.sweep()
            if not self.harness.bell.rings:
                return
            self.harness.run_until_quiet()

    def at(self, redrive_id: UUID) -> Redrive:
        return redrive.get(self.engine, redrive_id)

    def items(self, redrive_id: UUID) -> list[tuple[str, str | None]]:
        """What became of each letter, and why."""
        page = redrive.items_page(self.engine, redrive_id, limit=1000)
        return [(str(one.state), one.reason) for one in page.items]

    def statuses(self, letters: list[UUID]) -> list[str]:
        rows = self.harness.database.call(
            "select status from remand.dead_letters where id = any(%s) order by id", (letters,)
        )
        return [row[0] for row in rows]


@pytest.fixture
def shop(harness: Harness) -> Shop:
    return Shop(harness)


def test_the_start_acts_on_exactly_what_was_planned(shop: Shop) -> None:
    before = shop.fail(3)
    made = shop.plan().redrive
    later = shop.fail(2)
    shop.repair()

    redrive.start(shop.engine, made.id, ANN)
    shop.work()

    done = shop.at(made.id)
    assert (done.state, done.total, done.succeeded, done.waiting) == ("finished", 3, 3, 0)
    assert shop.statuses(before) == ["requeued"] * 3
    assert shop.statuses(later) == ["pending"] * 2
    check_invariants(shop.harness.database)


def test_a_plan_alone_does_nothing(shop: Shop) -> None:
    letters = shop.fail(2)

    made = shop.plan().redrive
    shop.work()

    assert (made.state, made.waiting) == ("planned", 2)
    assert shop.statuses(letters) == ["pending"] * 2


def test_a_plan_is_forgotten_after_a_day(shop: Shop) -> None:
    shop.fail(1)
    made = shop.plan().redrive
    shop.harness.advance(hours=25)

    shop.sweep()

    with pytest.raises(RedriveNotFound):
        redrive.start(shop.engine, made.id, ANN)
    assert shop.harness.database.call("select count(*) from remand.redrive_items") == [(0,)]


def test_everything_must_be_meant(shop: Shop) -> None:
    shop.fail(2)

    with pytest.raises(Unfiltered):
        redrive.plan(shop.engine, LetterFilter(), ANN)
    assert redrive.plan(shop.engine, LetterFilter(), ANN, everything=True).redrive.total == 2


def test_ids_that_are_unknown_or_closed_are_told_one_by_one(shop: Shop) -> None:
    first, second = shop.fail(2)
    resolve_letter(shop.engine, first, BOB)
    shop.repair()

    redrive_id = shop.start(LetterFilter(ids=(first, second, new_id(), second)))
    shop.work()

    assert shop.items(redrive_id) == [
        ("succeeded", None),
        ("skipped", "closed as manually_resolved by bob"),
        ("not_found", "no dead letter has this id"),
    ]


def test_a_group_is_a_selection(shop: Shop) -> None:
    letter = shop.fail(1)[0]
    [(group_id,)] = shop.harness.database.call(
        "select group_id from remand.dead_letters where id = %s", (letter,)
    )

    assert shop.plan(LetterFilter(group_id=group_id)).redrive.total == 1
    assert shop.plan(LetterFilter(group_id=new_id())).redrive.total == 0


def test_a_letter_closed_since_the_plan_is_skipped_with_the_reason(shop: Shop) -> None:
    letters = shop.fail(3)
    made = shop.plan().redrive
    requeue_letter(shop.engine, letters[1], BOB)
    shop.repair()

    redrive.start(shop.engine, made.id, ANN)
    shop.work()

    assert shop.items(made.id) == [
        ("succeeded", None),
        ("skipped", "closed as requeued by bob"),
        ("succeeded", None),
    ]


def test_letters_others_have_claimed_are_left_to_them(shop: Shop) -> None:
    letters = shop.fail(3)
    claim_letter(shop.engine, letters[0], BOB)
    claim_letter(shop.engine, letters[1], ANN)
    shop.repair()

    redrive_id = shop.start()
    shop.work()

    assert shop.items(redrive_id) == [("skipped", "claimed by bob"), ("succeeded", None), ("succeeded", None)]
    again = shop.start(include_claimed=True)
    shop.work()
    assert shop.items(again) == [("succeeded", None)]


def test_a_canary_that_succeeds_lets_the_rest_go(shop: Shop) -> None:
    shop.fail(6)
    shop.repair()

    redrive_id = shop.start(canary=(1, 2))
    sent = []
    for _ in range(3):
        shop.sweep()
        sent.append(shop.at(redrive_id).total - shop.at(redrive_id).waiting)
        shop.harness.run_until_quiet()
    shop.sweep()

    assert sent == [1, 3, 6]
    assert (shop.at(redrive_id).state, shop.at(redrive_id).succeeded) == ("finished", 6)
    check_invariants(shop.harness.database)


def test_a_canary_waits_for_its_outcome(shop: Shop) -> None:
    shop.fail(3)
    shop.repair()

    redrive_id = shop.start(canary=(1,))
    assert [shop.sweep() for _ in range(3)] == [1, 0, 0]

    assert (shop.at(redrive_id).state, shop.at(redrive_id).sent) == ("canary", 1)


def test_a_canary_that_fails_stops_the_rest_and_names_the_error(shop: Shop) -> None:
    letters = shop.fail(4)

    redrive_id = shop.start(canary=(1, 2))
    shop.work()

    stopped = shop.at(redrive_id)
    assert (stopped.state, stopped.failed, stopped.waiting) == ("stopped", 1, 3)
    assert stopped.stop_reason is not None
    assert "canary 1 of 2: 1 of 1 failed, 100% must succeed" in stopped.stop_reason
    assert "PermanentError: card declined" in stopped.stop_reason
    assert shop.statuses(letters) == ["requeued", "pending", "pending", "pending"]
    [error] = redrive.progress(shop.engine, redrive_id).new_errors
    assert (error.count, error.letter_id in letters) == (1, False)
    check_invariants(shop.harness.database)


def test_a_stopped_one_may_go_on_all_the_same(shop: Shop) -> None:
    shop.fail(4)
    redrive_id = shop.start(canary=(1, 2))
    shop.work()
    shop.repair()

    redrive.resume(shop.engine, redrive_id, ANN)
    shop.work()

    done = shop.at(redrive_id)
    assert (done.state, done.failed, done.succeeded, done.stop_reason) == ("finished", 1, 3, None)


def test_a_share_may_be_enough(shop: Shop) -> None:
    shop.fail(6)
    shop.repair(0)

    redrive_id = shop.start(canary=(4,), success_share=0.75)
    shop.work()

    done = shop.at(redrive_id)
    assert (done.state, done.succeeded, done.failed) == ("finished", 5, 1)


def test_a_canary_that_never_ends_stops(harness_with: Any) -> None:
    shop = Shop(harness_with(redrive_wait_seconds=60))
    shop.fail(3)
    redrive_id = shop.start(canary=(1,))
    shop.sweep()

    shop.harness.advance(61)
    shop.sweep()

    stopped = shop.at(redrive_id)
    assert stopped.state == "stopped"
    assert stopped.stop_reason == "canary 1 of 1: 1 of 1 have not ended within 60 s"


def test_the_rest_does_not_wait_for_ever(harness_with: Any) -> None:
    shop = Shop(harness_with(redrive_wait_seconds=60))
    shop.fail(2)
    redrive_id = shop.start()
    shop.sweep()

    shop.harness.advance(61)
    shop.sweep()

    done = shop.at(redrive_id)
    assert (done.state, done.sent, done.stop_reason) == (
        "finished",
        2,
        "the outcome of 2 letters is not known",
    )


def test_outcomes_of_the_rest_are_followed(shop: Shop) -> None:
    shop.fail(5)
    shop.repair(1, 3)

    redrive_id = shop.start()
    shop.work()

    assert [state for state, _ in shop.items(redrive_id)].count("failed") == 2
    failed = redrive.items_page(shop.engine, redrive_id, states=["failed"]).items
    assert {one.reason for one in failed} == {"remand.errors.PermanentError: card declined (step b)"}
    assert all(one.new_letter_id for one in failed)


def test_a_workflow_cancelled_on_the_way_counts_as_failed(shop: Shop) -> None:
    from remand_app.engine.operate import cancel

    shop.fail(1)
    redrive_id = shop.start()
    shop.sweep()
    item = redrive.items_page(shop.engine, redrive_id).items[0]
    assert item.workflow_id is not None
    cancel(shop.engine, item.workflow_id, BOB)

    shop.sweep()

    [(state, reason)] = shop.items(redrive_id)
    assert (state, reason) == ("failed", "its workflow was cancelled before what was sent back had ended")


def test_a_rate_is_kept(shop: Shop) -> None:
    shop.fail(12)
    redrive_id = shop.start(rate_per_second=4)

    sent = []
    for _ in range(4):
        sent.append(shop.sweep())
        shop.sweep()
        shop.harness.advance(1)

    assert sent == [4, 4, 4, 0]
    assert shop.at(redrive_id).waiting == 0


def test_a_slow_rate_sends_one_at_a_time(shop: Shop) -> None:
    shop.fail(3)
    shop.start(rate_per_second=0.1)

    sent = []
    for _ in range(25):
        sent.append(shop.sweep())
        shop.harness.advance(1)

    assert sent == [1, *[0] * 9, 1, *[0] * 9, 1, *[0] * 4]


def test_time_asleep_is_not_made_up_for_by_a_flood(shop: Shop) -> None:
    shop.fail(10)
    shop.start(rate_per_second=2)
    shop.sweep()

    shop.harness.advance(minutes=10)

    assert [shop.sweep(), shop.sweep()] == [3, 0]


def test_a_new_process_goes_on_at_the_same_rate(shop: Shop) -> None:
    shop.fail(6)
    redrive_id = shop.start(rate_per_second=2)
    shop.sweep()

    other = make_engine(shop.harness.database, shop.harness.clock, shop.harness.bell, shop.harness.settings)
    assert sweep(other).dealt_with == 0
    shop.harness.advance(1)
    assert sweep(other).dealt_with == 2
    assert shop.at(redrive_id).waiting == 2


def test_a_person_pauses_resumes_and_cancels(shop: Shop) -> None:
    letters = shop.fail(5)
    redrive_id = shop.start(rate_per_second=1)
    shop.sweep()

    redrive.pause(shop.engine, redrive_id, BOB)
    shop.harness.advance(10)
    assert (shop.sweep(), shop.at(redrive_id).state) == (0, "paused")

    redrive.resume(shop.engine, redrive_id, BOB)
    assert shop.sweep() == 2

    redrive.cancel(shop.engine, redrive_id, BOB)
    shop.harness.advance(10)
    assert (shop.sweep(), shop.at(redrive_id).state) == (0, "cancelled")
    assert shop.statuses(letters) == ["requeued"] * 3 + ["pending"] * 2
    with pytest.raises(IllegalMove, match="cancelled by bob"):
        redrive.resume(shop.engine, redrive_id, BOB)


def test_every_decision_is_in_the_audit_log(shop: Shop) -> None:
    letters = shop.fail(2)
    redrive_id = shop.start()
    redrive.pause(shop.engine, redrive_id, BOB)
    redrive.resume(shop.engine, redrive_id, BOB)
    shop.repair()
    shop.work()

    entries = audit.list_page(shop.harness.database, audit.AuditFilter(subject=str(redrive_id))).items
    assert [(one.verb, one.by) for one in reversed(entries)] == [
        ("redrive.start", "ann"),
        ("redrive.pause", "bob"),
        ("redrive.resume", "bob"),
        ("redrive.move", "remand"),
    ]
    [entry] = audit.list_page(shop.harness.database, audit.AuditFilter(subject=str(letters[0]))).items
    assert (entry.verb, entry.by, entry.reason) == ("dead_letter.requeue", "ann", "the gateway is up again")
    assert entry.after["redrive"] == str(redrive_id)


def test_a_step_may_be_sent_elsewhere_and_behind_fresh_work(shop: Shop) -> None:
    letters = shop.fail(1)
    shop.start(queue="big", priority=0)

    shop.sweep()

    assert shop.harness.database.call("select queue, priority from remand.run_queue") == [("big", 0)]
    assert "big" in shop.harness.bell.rings
    assert shop.harness.database.call(
        "select queue from remand.dead_letters where id = %s", (letters[0],)
    ) == [("steps",)]


@pytest.mark.parametrize(
    ("verb", "status", "workflow"),
    [
        (RedriveVerb.RESOLVE, "manually_resolved", "complete"),
        (RedriveVerb.CANCEL, "cancelled", "cancelled"),
        (RedriveVerb.GIVE_UP, "permanently_failed", "error"),
    ],
)
def test_other_verbs_go_the_same_way(shop: Shop, verb: RedriveVerb, status: str, workflow: str) -> None:
    letters = shop.fail(3)
    claim_letter(shop.engine, letters[2], BOB)

    redrive_id = shop.start(verb=verb)
    shop.work()

    assert shop.items(redrive_id) == [("succeeded", None), ("succeeded", None), ("skipped", "claimed by bob")]
    assert shop.statuses(letters) == [status, status, "investigating"]
    states = shop.harness.database.call(
        "select f.state from remand.workflows f join remand.dead_letters d on d.workflow_id = f.id"
        " order by d.id"
    )
    assert states[:2] == [(workflow,), (workflow,)]
    assert shop.at(redrive_id).state == "finished"
    check_invariants(shop.harness.database)


def test_it_begins_at_its_instant(shop: Shop) -> None:
    shop.fail(1)
    redrive_id = shop.start(not_before=shop.harness.clock.now + timedelta(minutes=10))
    assert (shop.sweep(), shop.at(redrive_id).state) == (0, "pending")

    redrive.pause(shop.engine, redrive_id, ANN)
    redrive.resume(shop.engine, redrive_id, ANN)
    assert (shop.sweep(), shop.at(redrive_id).state) == (0, "pending")

    shop.harness.advance(minutes=10)
    assert shop.sweep() == 1


def test_it_begins_once_the_new_code_is_live_everywhere(shop: Shop) -> None:
    shop.fail(1)
    redrive_id = shop.start(code_version="2.0")
    other = shop.harness.new_worker("steps", hostname="w2@test")
    set_version = "update remand.workers set code_version = '2.0' where id = %s"

    shop.harness.database.call(set_version, (other.id,))
    assert (shop.sweep(), shop.at(redrive_id).state) == (0, "pending")

    shop.harness.database.call(set_version, (shop.harness.worker.id,))
    assert shop.sweep() == 1


def test_one_letter_that_postgres_refuses_does_not_hold_up_the_others(shop: Shop) -> None:
    letters = shop.fail(5)
    shop.repair()
    database = shop.harness.database
    database.call(
        "create function remand.refuse() returns trigger language plpgsql as $$ begin"
        f" if new.id = '{letters[2]}' then raise exception 'not this one' using errcode = '23514'; end if;"
        " return new; end $$; create trigger refuse before update on remand.dead_letters"
        " for each row execute function remand.refuse()"
    )
    try:
        redrive_id = shop.start()
        shop.work()
    finally:
        database.call("drop function remand.refuse() cascade")

    assert [state for state, _ in shop.items(redrive_id)] == [
        *["succeeded"] * 2,
        "skipped",
        *["succeeded"] * 2,
    ]
    assert shop.items(redrive_id)[2][1] == "refused by Postgres: not this one"
    check_invariants(database)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"canary": (0,)}, "canary"),
        ({"canary": (1,) * 21}, "canary"),
        ({"success_share": 0.0}, "share"),
        ({"rate_per_second": 0.0}, "rate"),
        ({"priority": 10}, "priority"),
        ({"queue": "retry.never"}, "queue"),
        ({"queue": " "}, "queue"),
        ({"verb": RedriveVerb.CANCEL, "queue": "big"}, "requeue"),
    ],
)
def test_options_out_of_bounds_are_refused(shop: Shop, options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputInvalid, match=told):
        shop.plan(**options)
    assert shop.harness.database.call("select count(*) from remand.redrives") == [(0,)]


def test_start_pause_and_cancel_are_idempotent(shop: Shop) -> None:
    shop.fail(1)
    redrive_id = shop.start()

    redrive.start(shop.engine, redrive_id, BOB)
    assert shop.at(redrive_id).started_by == "ann"
    redrive.pause(shop.engine, redrive_id, BOB)
    assert redrive.pause(shop.engine, redrive_id, ANN).stop_reason == "paused by bob: mine"
    redrive.cancel(shop.engine, redrive_id, BOB)
    redrive.cancel(shop.engine, redrive_id, ANN)
    with pytest.raises(IllegalMove):
        redrive.start(shop.engine, redrive_id, ANN)


def test_redrives_are_listed_newest_first_page_by_page(shop: Shop) -> None:
    shop.fail(1)
    first, second, third = (shop.start() for _ in range(3))
    plan = shop.plan().redrive

    page = redrive.list_page(shop.engine, limit=2)
    assert [one.id for one in page.items] == [third, second]
    assert [one.id for one in redrive.list_page(shop.engine, after=page.next).items] == [first]
    assert [one.id for one in redrive.list_page(shop.engine, states=["planned"]).items] == [plan.id]
    with pytest.raises(InputInvalid):
        redrive.list_page(shop.engine, after="x")
    with pytest.raises(InputInvalid):
        redrive.items_page(shop.engine, first, after="x")


def test_progress_tells_rate_and_eta(shop: Shop) -> None:
    shop.fail(10)
    redrive_id = shop.start(rate_per_second=2)
    for _ in range(2):
        shop.sweep()
        shop.harness.advance(1)

    told = redrive.progress(shop.engine, redrive_id)

    assert (told.per_second, told.eta_seconds, told.success_share) == (2.0, 3.0, None)
    assert told.to_dict()["waiting"] == 6
