"""Steps as tasks in Flower, next to the bells: a setting. Source: E4."""

from __future__ import annotations

from typing import Any

import httpx

from tests.acceptance.test_gates import LOGIN, start_flower
from tests.support.site import PATIENCE_SECONDS, Site
from tests.support.site_fixtures import OpenSite
from tests.support.waiting import eventually


def start(open_site: OpenSite, *, flower_steps: bool) -> tuple[Site, str]:
    """Start a site and Flower, and wait until Flower hears what the worker does."""
    site = open_site(flower_steps=flower_steps)
    site.start_worker("w1")
    site.start_support()
    address = start_flower(site, "flower")

    def heard() -> bool:
        site.submit()
        return any(one["name"] == "remand.drain" for one in tasks(address).values())

    eventually(heard, timeout=PATIENCE_SECONDS, message="Flower hears nothing")
    return site, address


def tasks(address: str) -> dict[str, dict[str, Any]]:
    return dict(httpx.get(f"{address}/api/tasks", auth=LOGIN, timeout=PATIENCE_SECONDS).json())


def test_steps_are_tasks_in_flower_if_wanted(open_site: OpenSite) -> None:
    site, address = start(open_site, flower_steps=True)

    good = site.submit()
    [bad] = site.submit_many(1, fail_on=[1])
    site.settle()

    wanted = {f"{good}:only:1": "SUCCESS", f"{bad}:only:1": "FAILURE", f"{bad}:only:2": "SUCCESS"}
    eventually(
        lambda: {key: one["state"] for key, one in tasks(address).items() if key in wanted} == wanted,
        timeout=PATIENCE_SECONDS,
        message="Flower does not show the steps",
    )
    failed = tasks(address)[f"{bad}:only:1"]
    assert failed["args"] == repr((str(bad), "only", 1))
    assert failed["name"] == "site.play"
    assert failed["worker"] == "w1@site"
    assert failed["exception"] == "remand.errors.RetryableError"
    assert (failed["kwargs"], failed["result"]) == ("{}", None)


def test_a_step_that_runs_is_shown_as_started(open_site: OpenSite) -> None:
    site, address = start(open_site, flower_steps=True)

    held = site.submit(hold_on=[1])

    def is_shown_as(state: str) -> bool:
        return bool(tasks(address).get(f"{held}:only:1", {}).get("state") == state)

    eventually(lambda: is_shown_as("STARTED"), timeout=PATIENCE_SECONDS, message="not shown as started")
    site.release()
    eventually(lambda: is_shown_as("SUCCESS"), timeout=PATIENCE_SECONDS, message="not shown as ended")


def test_without_the_setting_flower_shows_bells_alone(open_site: OpenSite) -> None:
    site, address = start(open_site, flower_steps=False)

    site.submit()
    site.settle()

    assert not [one for one in tasks(address).values() if one["name"] == "site.play"]
