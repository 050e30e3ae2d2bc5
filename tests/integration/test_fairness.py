"""Who goes first in a crowded queue: priorities, namespaces, new work beside old. Source: A10."""

from __future__ import annotations

from collections import Counter

import pytest

from remand_app.engine import executor
from remand_app.store.claims import Claim
from tests.support.engine import Harness
from tests.support.shapes import shape

FLOOD = 2_000
K = 50


def template(namespace: str, priority: int = 5) -> str:
    return shape("one", {"a": ()}, priority=priority, namespace=namespace)


def flood(harness: Harness, namespace: str, count: int = FLOOD, priority: int = 5) -> None:
    harness.publish(template(namespace, priority))
    harness.submit_many(f"{namespace}/one", range(count))


def claims_until(harness: Harness, wanted: object, k: int) -> int:
    """Claim until the wanted workflow comes; return how many claims that took."""
    for number in range(1, FLOOD):
        if any(claim.workflow_id == wanted for claim in harness.worker.queue.claim("steps", k)):
            return number
    raise AssertionError("it never came")


def served(harness: Harness, claims: list[Claim]) -> Counter[str]:
    names = {
        row[0]: row[1]
        for row in harness.database.call(
            "select f.id, t.namespace from remand.workflows f join remand.templates t on t.id = f.template_id"
        )
    }
    return Counter(names[claim.workflow_id] for claim in claims)


@pytest.mark.parametrize("k", [1, K])
def test_a_flood_of_one_namespace_does_not_keep_another_waiting(harness: Harness, k: int) -> None:
    flood(harness, "loud")
    harness.publish(template("quiet"))
    harness.advance(60)
    wanted = harness.submit("quiet/one")

    assert claims_until(harness, wanted, k) <= 40


@pytest.mark.parametrize("k", [1, K])
def test_new_work_does_not_wait_behind_a_flood_of_old_work(harness: Harness, k: int) -> None:
    flood(harness, "t")
    harness.advance(hours=3)
    wanted = harness.submit("t/one")

    assert claims_until(harness, wanted, k) <= 4


@pytest.mark.parametrize("k", [1, K])
def test_low_priorities_are_not_starved_by_a_flood_of_urgent_work(harness: Harness, k: int) -> None:
    flood(harness, "t", priority=9)
    harness.publish(shape("low", {"a": ()}, priority=0))
    wanted = harness.submit("t/low")
    harness.advance(60)

    assert claims_until(harness, wanted, k) <= 40


def test_namespaces_of_one_priority_share_evenly(harness: Harness) -> None:
    for namespace in ("a", "b", "c", "d"):
        flood(harness, namespace, 400)
    harness.advance(1)

    shares = served(harness, [c for _ in range(10) for c in harness.worker.queue.claim("steps", 40)])

    assert sum(shares.values()) == 400
    assert min(shares.values()) >= 80, shares


def test_what_one_namespace_leaves_another_takes(harness: Harness) -> None:
    flood(harness, "loud", 100)
    flood(harness, "quiet", 2)

    shares = [served(harness, harness.worker.queue.claim("steps", 30)) for _ in range(2)]

    assert sum(shares, Counter()) == {"loud": 58, "quiet": 2}


def test_the_urgent_goes_first_while_nothing_has_waited_long(harness: Harness) -> None:
    for priority in (0, 9, 5):
        harness.publish(shape(f"p{priority}", {"a": ()}, priority=priority))
        harness.submit_many(f"t/p{priority}", range(5))

    claims = [claim for _ in range(15) for claim in harness.worker.queue.claim("steps", 1)]

    order = [harness.workflow(claim.workflow_id).name for claim in claims]
    assert order == ["p9"] * 5 + ["p5"] * 5 + ["p0"] * 5


def test_the_oldest_goes_first_while_nothing_has_waited_long(harness: Harness) -> None:
    harness.publish(template("t"))
    ids = []
    for _ in range(12):
        ids.append(harness.submit("t/one"))
        harness.advance(0.1)

    claimed = [claim.workflow_id for _ in range(12) for claim in harness.worker.queue.claim("steps", 1)]

    assert claimed == ids


@pytest.mark.parametrize(
    ("follow_seconds", "expected"), [(0.0, ["a", "urgent", "b"]), (3600.0, ["a", "b", "urgent"])]
)
def test_a_drain_does_not_follow_its_own_work_for_long(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, follow_seconds: float, expected: list[str]
) -> None:
    monkeypatch.setattr(executor, "FOLLOW_SECONDS", follow_seconds)
    harness.publish(shape("chain", {"a": (), "b": ("a",)}))
    harness.publish(shape("urgent", {"urgent": ()}, priority=9))
    ran = harness.play(a=lambda ctx: str(harness.submit("t/urgent")))
    harness.submit("t/chain")

    harness.run_until_quiet()

    assert ran == expected
