"""Redrives on real worker processes: the whole way over the command line, and killed in the middle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.site import SUPPORT, Site
from tests.support.waiting import eventually


@pytest.fixture
def site(shared_site: Site) -> Iterator[Site]:
    if "steps" not in shared_site.processes:
        shared_site.start_worker("steps")
        shared_site.ready("steps", "support")
    yield shared_site
    shared_site.settle()


def dead(site: Site, count: int) -> list[str]:
    """Let workflows die of a cause that is mended by now."""
    ids = site.submit_many(count, "site/chain", b={"give_up_on": [1]})
    eventually(lambda: site.states(ids) == {"blocked_by_failures": count}, timeout=90)
    return ids


def test_after_the_fix_a_canary_and_then_all_of_them_complete(site: Site) -> None:
    ids = dead(site, 200)
    begun = site.cli(
        "dlq", "redrive", "start", "--template", "site/chain", "--canary", "1,10", "--yes",
        "--reason", "the gateway is up again",
    )  # fmt: skip
    # Workers may have begun by the time it answers.
    assert (begun["total"], begun["canary"]) == (200, [1, 10])

    eventually(lambda: site.cli("dlq", "redrive", "status", begun["id"])["state"] == "finished", timeout=90)

    done = site.cli("dlq", "redrive", "status", begun["id"])
    assert (done["succeeded"], done["failed"], done["skipped"]) == (200, 0, 0)
    eventually(lambda: site.states(ids) == {"complete": 200}, timeout=60)
    assert all(site.outcomes(one, "b") == ["failed", "complete"] for one in ids[:20])


def test_maintenance_worker_killed_in_the_middle_goes_on_with_the_next(site: Site) -> None:
    ids = dead(site, 120)
    begun = site.cli(
        "dlq", "redrive", "start", "--template", "site/chain", "--rate", "8", "--yes", "--reason", "fixed"
    )["id"]
    eventually(lambda: site.cli("dlq", "redrive", "status", begun)["waiting"] < 100, timeout=60)

    site.kill("support")
    left = site.cli("dlq", "redrive", "status", begun)["waiting"]
    assert left > 0
    site.start_worker("support", SUPPORT, concurrency=1)

    eventually(lambda: site.states(ids) == {"complete": 120}, timeout=90)
    eventually(lambda: site.cli("dlq", "redrive", "status", begun)["state"] == "finished", timeout=60)
    sent = site.database.call(
        "select count(*) from remand.audit_log where verb = 'dead_letter.requeue' and after->>'redrive' = %s"
        " group by subject",
        (begun,),
    )
    assert sent == [(1,)] * 120
