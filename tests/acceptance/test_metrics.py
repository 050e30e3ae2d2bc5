"""What workers tell Prometheus while their processes die and are replaced. Source: E5."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from remand_app.embedded.stack import free_port
from tests.support.engine import publish
from tests.support.numbers import Numbers
from tests.support.site import SUPPORT, Site
from tests.support.waiting import eventually

pytestmark = pytest.mark.once

OpenSite = Callable[..., Site]


class Metered:
    """A site whose workers are asked for their numbers; what never goes back is held to that at each look."""

    def __init__(self, site: Site, *, alone: bool = False) -> None:
        """`alone`: without the support, for work that goes well at once."""
        self.site = site
        self.scratch = site.folder / "scratch"
        self.scratch.mkdir()
        self.ports = {name: free_port() for name in ("steps", "support")[: 1 if alone else 2]}
        self._before: dict[str, Numbers] = {}
        self.start("steps")
        if not alone:
            site.start_worker("support", SUPPORT, concurrency=1, env=self.env("support"))
            site.start_beat()
        site.ready(*self.ports)
        eventually(lambda: all(map(self.look, self.ports)), timeout=30)

    def env(self, name: str) -> dict[str, str]:
        return {"REMAND_METRICS_PORT": str(self.ports[name]), "TMPDIR": str(self.scratch)}

    def start(self, name: str) -> None:
        self.site.start_worker(name, env=self.env(name))

    def forget(self, name: str) -> None:
        """Its main process is a new one: it counts from nothing."""
        del self._before[name]

    def look(self, name: str = "steps") -> Numbers:
        try:
            answer = httpx.get(f"http://127.0.0.1:{self.ports[name]}/metrics", trust_env=False)
        except httpx.TransportError as error:
            raise AssertionError(f"{name} does not answer: {error}") from error
        found = Numbers.of(answer.text)
        if name in self._before:
            now = found.totals()
            for key, value in self._before[name].totals().items():
                assert now[key] >= value, f"{key} went back from {value} to {now[key]}"
        self._before[name] = found
        return found

    def until(self, check: Callable[[Numbers], bool], name: str = "steps") -> Numbers:
        """Look until it is so: a child tells what it counted after each of its tasks."""

        def so() -> Numbers | None:
            found = self.look(name)
            assert check(found), sorted(found.totals().items())
            return found

        return eventually(so, timeout=30)  # type: ignore[return-value]

    def files(self) -> set[Path]:
        return {path for path in self.scratch.rglob("*") if path.is_file()}


@pytest.fixture
def metered(open_site: OpenSite) -> Metered:
    return Metered(open_site())


@pytest.fixture
def alone(open_site: OpenSite) -> Metered:
    return Metered(open_site(), alone=True)


def complete(found: Numbers) -> float:
    return found.all("step_duration_seconds_count").get(("site.play", "complete"), 0)


def test_children_die_and_are_replaced_and_the_totals_go_on(metered: Metered) -> None:
    site, files = metered.site, metered.files()
    site.submit_many(10)
    site.settle()
    metered.until(lambda found: complete(found) == 10)
    first = set(site.children("steps"))

    site.submit(die_on=[1])
    site.submit(fail_on=[1], category="network")
    site.settle()

    found = metered.until(lambda found: complete(found) == 12)
    assert first - set(site.children("steps")), "no child died"
    assert found.one("step_duration_seconds_count", "site.play", "failed") == 1
    assert found.one("failed_attempts_total", "exponential", "network") == 1
    assert found.one("bells_total", "retry.exponential", "sent") >= 1
    assert found.one("logged_events_total", "attempt.failed") == 1
    for name in ("claim_duration_seconds", "settle_duration_seconds", "batch_steps"):
        assert found.one(f"{name}_count") >= 1, name
        assert found.one(f"{name}_sum") > 0, name
    assert found.one("claim_wait_seconds_count", "steps") >= 1
    retried = metered.until(lambda found: ("exponential", "network") in found.all("retries_total"), "support")
    assert retried.one("retries_total", "exponential", "network") == 1
    assert retried.one("sweep_duration_seconds_count", "ring") >= 1
    lost = [metered.look(name).all("lost_attempts_total").values() for name in metered.ports]
    assert sum(sum(values) for values in lost) == 1
    assert metered.files() == files, "a child left something behind"


def test_a_child_for_each_task_is_counted_to_the_last(alone: Metered) -> None:
    """Each child ends after its task; what it counted must be told before."""
    site = alone.site
    site.terminate("steps")
    alone.forget("steps")
    command = [
        sys.executable, "-m", "celery", "-q", "-A", "remand_workers", "worker", "-Q", "steps", "-c", "1",
        "-n", "steps@site", "--max-tasks-per-child", "1",
    ]  # fmt: skip
    site.start("steps", command, alone.env("steps"))
    eventually(lambda: alone.look("steps"), timeout=30)
    for number in range(1, 6):
        site.submit()
        site.settle()
        alone.until(lambda found, number=number: complete(found) == number)  # type: ignore[misc]

    assert len({one.pid for one in site.effects("end")}) == 5


def test_the_age_of_what_a_sweep_found_stale_is_told_by_its_worker(open_site: OpenSite) -> None:
    metered = Metered(open_site(stale_interval_seconds=1))
    brief = {
        "namespace": "site",
        "name": "brief",
        "version": "1",
        "lifecycle": {"max_lifetime_seconds": 1},
        "steps": [{"name": "only", "handler": "site.play"}],
    }
    publish(metered.site.engine, json.dumps(brief))

    # They run: time in a queue that nobody serves is nobody's age.
    late = metered.site.submit_many(3, "site/brief", seconds=15)

    found = metered.until(
        lambda found: sum(found.all("time_until_stale_seconds_count").values()) == len(late), "support"
    )
    assert found.all("time_until_stale_seconds_count").keys() == {("lifetime",)}
    assert len(late) < found.one("time_until_stale_seconds_sum", "lifetime") < 60 * len(late)


def test_a_main_process_that_dies_leaves_its_port_to_the_next(alone: Metered) -> None:
    """No child, not even one that was forked while the port was open, holds on to it."""
    site = alone.site
    first = site.children("steps")
    os.kill(first[0], signal.SIGKILL)
    eventually(lambda: set(site.children("steps")) - set(first), timeout=30)

    site.kill("steps", group=False)
    alone.forget("steps")
    alone.start("steps")
    eventually(lambda: alone.look("steps"), timeout=30, message="the port is not served")
    site.submit()
    site.settle()

    alone.until(lambda found: complete(found) == 1)


def test_a_worker_that_is_killed_is_counted_as_lost(metered: Metered) -> None:
    site = metered.site
    workflow = site.submit(hold_on=[1])
    site.started(workflow)

    site.kill("steps")

    found = metered.until(lambda found: bool(found.nonzero("lost_attempts_total")), "support")
    assert sum(found.nonzero("lost_attempts_total").values()) == 1
    assert found.one("logged_events_total", "worker.gone") >= 1
    metered.forget("steps")
    metered.start("steps")
    site.settle()


def test_a_port_that_is_taken_costs_the_numbers_and_not_the_work(alone: Metered) -> None:
    site = alone.site
    site.start_worker("second", ("steps",), env=alone.env("steps"))
    site.ready("second")

    eventually(lambda: "metrics.not_served" in site.log_path("second").read_text(), timeout=30)
    site.terminate("steps")
    workflow = site.submit()
    site.settle()
    assert site.outcomes(workflow) == ["complete"]
