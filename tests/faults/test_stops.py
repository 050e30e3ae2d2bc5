"""A worker is asked to end: whichever signal, whoever gets it, whatever the pool, no step fails by it."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Sequence
from uuid import UUID

import psutil
import pytest

from tests.support.letters import list_letters
from tests.support.site import ROOT, Site, hear_hangups
from tests.support.waiting import eventually

SITE_SETTINGS = {"shutdown_grace_seconds": 0.5}
ALWAYS = list(range(1, 20))


@pytest.fixture
def site(settled_site: Site) -> Site:
    return settled_site


def is_given_back(site: Site, workflow: UUID, attempts: int) -> None:
    assert site.outcomes(workflow) == ["interrupted"] * attempts
    step = site.steps(workflow)["only"]
    assert (step.state, step.failures, step.lost_attempts) == ("enqueued", 0, 0)


def ends_well(site: Site, workflow: UUID, attempts: int) -> None:
    """Let the next attempt end, in a worker that runs."""
    site.release("stop")
    eventually(lambda: site.workflow(workflow).state == "complete", timeout=60)
    (site.folder / "release-stop").unlink()
    assert site.outcomes(workflow) == [*["interrupted"] * attempts, "complete"]
    assert list_letters(site.database, workflow_id=workflow) == []


@pytest.mark.parametrize(
    ("pool", "stops"),
    [
        ("prefork", ([signal.SIGTERM], [signal.SIGHUP] * 2, [signal.SIGQUIT], [signal.SIGINT] * 2)),
        ("solo", ([signal.SIGTERM], [signal.SIGINT] * 2)),
        ("threads", ([signal.SIGTERM] * 2,)),
    ],
    ids=["prefork", "solo", "threads"],
)
def test_stop_of_the_whole_group_interrupts_what_outlasts_the_grace(
    site: Site, pool: str, stops: Sequence[Sequence[int]]
) -> None:
    workflow = site.submit("site/one", hold_on=ALWAYS, hold="stop")
    for attempt, numbers in enumerate(stops, start=1):
        process = site.start_worker("stopped", pool=pool)
        site.started(workflow, attempt=attempt)
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        assert process.wait(60) == 0
        is_given_back(site, workflow, attempt)
    site.start_worker("stopped", pool=pool)
    ends_well(site, workflow, len(stops))


def test_stop_of_the_whole_group_lets_a_step_end_within_the_grace(site: Site) -> None:
    process = site.start_worker("patient", env={"REMAND_SHUTDOWN_GRACE_SECONDS": "60"})
    workflow = site.submit("site/one", hold_on=[1], hold="patient")
    behind = site.submit_many(5, "site/one", seconds=0.1)
    site.started(workflow)
    os.killpg(process.pid, signal.SIGTERM)
    eventually(lambda: "Warm shutdown" in site.log_path("patient").read_text(), timeout=60)
    site.release("patient")
    assert process.wait(60) == 0
    assert site.outcomes(workflow) == ["complete"]
    site.start_worker("patient")
    eventually(lambda: site.states(behind) == {"complete": 5}, timeout=60)


def test_signal_to_one_child_ends_it_alone_and_costs_no_step(site: Site) -> None:
    process = site.start_worker("pool")
    workflow = site.submit("site/one", hold_on=ALWAYS, hold="stop")
    for attempt, number in enumerate((signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT), start=1):
        child = site.started(workflow, attempt=attempt).pid
        os.kill(child, number)
        eventually(lambda child=child: not psutil.pid_exists(child), timeout=60)
    site.started(workflow, attempt=4)
    ends_well(site, workflow, 3)
    assert process.poll() is None


def test_child_that_is_asked_to_end_ends_its_step_first_and_then_itself(site: Site) -> None:
    site.start_worker("pool", env={"REMAND_SHUTDOWN_GRACE_SECONDS": "60"})
    workflow = site.submit("site/one", hold_on=[1], hold="child")
    child = site.started(workflow).pid
    os.kill(child, signal.SIGTERM)
    site.release("child")
    eventually(lambda: not psutil.pid_exists(child), timeout=60)
    assert site.outcomes(workflow) == ["complete"]


def test_closed_terminal_is_a_stop(site: Site) -> None:
    ours, theirs = pty.openpty()
    # A session of its own whose terminal this is, as a shell's would be: its end tells the whole group.
    opens = (
        "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        " os.execvp(sys.argv[1], sys.argv[1:])"
    )
    worker = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "remand_workers",
        "worker",
        "-Q",
        "steps",
        "-c",
        "2",
        "-n",
        "tty@site",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", opens, *worker],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, env=site.environment, start_new_session=True,
        preexec_fn=hear_hangups,  # noqa: PLW1509 - one call to the kernel, which needs no lock
    )  # fmt: skip
    site.processes["tty"] = process
    os.close(theirs)
    workflow = site.submit("site/one", hold_on=[1], hold="never")
    site.started(workflow)
    os.close(ours)
    assert process.wait(60) == 0
    is_given_back(site, workflow, 1)
    site.start_worker("after")
    eventually(lambda: site.workflow(workflow).state == "complete", timeout=60)
    assert site.outcomes(workflow) == ["interrupted", "complete"]
