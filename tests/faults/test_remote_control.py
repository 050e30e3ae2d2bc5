"""Celery's remote control: what shows is answered, what changes a worker is not obeyed. Source: E6, B14."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from remand_app.domain.commands import COMMON_CONTROLS
from tests.support.brokers import clean_broker, rabbitmq_url
from tests.support.databases import Cluster
from tests.support.fixtures import _worker_number
from tests.support.servers import Servers
from tests.support.site import Site
from tests.support.waiting import eventually

NAME = "steps@site"
DANGEROUS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("shutdown", {}),
    ("pool_restart", {"reload": True}),
    ("pool_grow", {"n": 2}),
    ("pool_shrink", {"n": 1}),
    ("autoscale", {"max": 9, "min": 9}),
    ("add_consumer", {"queue": "theirs"}),
    ("cancel_consumer", {"queue": "steps"}),
    ("rate_limit", {"task_name": "remand.drain", "rate_limit": "1/h"}),
    ("time_limit", {"task_name": "remand.drain", "hard": 1, "soft": 1}),
    ("revoke", {"task_id": "1", "terminate": True}),
    ("terminate", {"task_id": "1", "signal": "KILL"}),
    ("revoke_by_stamped_headers", {"headers": {"a": "b"}}),
    ("hello", {"from_node": "theirs@host", "revoked": {"1": 1}}),
    ("objgraph", {"num": 1}),
    ("disable_events", {}),
    ("election", {"id": "1", "topic": "t"}),
)


@pytest.fixture(params=["the broker of the run", "RabbitMQ"])
def open_site(
    request: pytest.FixtureRequest, test_servers: Servers, cluster: Cluster
) -> Iterator[Callable[..., Site]]:
    url = test_servers.broker_url if request.param != "RabbitMQ" else rabbitmq_url()
    if not url:
        pytest.skip("no RabbitMQ answers here")
    with ExitStack() as stack:

        def make(**settings: Any) -> Site:
            folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            mine = stack.enter_context(clean_broker(url, _worker_number()))
            database_url = stack.enter_context(cluster.fresh())
            return stack.enter_context(Site(Path(folder), database_url, mine, **settings))

        yield make


def control(site: Site) -> Any:
    return site._bell._app.control


def as_it_was(site: Site) -> tuple[list[int], list[str]]:
    told = eventually(lambda: control(site).inspect([NAME], timeout=3, limit=1).active_queues(), timeout=60)
    return sorted(site.children("steps")), sorted(queue["name"] for queue in told[NAME])


def forbidden(site: Site) -> int:
    return sum("control.forbidden" in line for line in site.log_path("steps").read_text().splitlines())


def test_what_changes_a_worker_is_refused_and_told(open_site: Callable[..., Site]) -> None:
    site = open_site()
    worker = site.start_worker("steps")
    site.ready("steps")
    before = as_it_was(site)
    for command, arguments in DANGEROUS:
        answers = control(site).broadcast(
            command, arguments=arguments, destination=[NAME], reply=True, timeout=3, limit=1
        )
        assert "commands.control" in answers[0][NAME]["error"], (command, answers)
    assert forbidden(site) == len(DANGEROUS)
    # Told to all, and without waiting for an answer, as `celery control shutdown` does.
    control(site).broadcast("shutdown")
    eventually(lambda: forbidden(site) == len(DANGEROUS) + 1, timeout=30)
    # Not for this worker: not its business.
    control(site).broadcast("shutdown", destination=["other@site"])

    assert as_it_was(site) == before
    order = site.submit("site/one")
    eventually(lambda: site.states([order]) == {"complete": 1}, timeout=60)
    assert worker.poll() is None
    assert forbidden(site) == len(DANGEROUS) + 1
    assert "[error" in next(
        line for line in site.log_path("steps").read_text().splitlines() if "control.forbidden" in line
    )


def test_what_shows_is_answered_and_the_list_may_be_longer(open_site: Callable[..., Site]) -> None:
    site = open_site(commands={"control": ",".join((*COMMON_CONTROLS, "pool_grow"))})
    site.start_worker("steps")
    site.ready("steps")
    ask = control(site).inspect([NAME], timeout=5, limit=1)
    eventually(ask.ping, timeout=60)
    for name in (
        "stats",
        "active",
        "active_queues",
        "reserved",
        "scheduled",
        "registered",
        "revoked",
        "conf",
    ):
        assert "error" not in str(getattr(ask, name)()[NAME])[:200], name
    assert control(site).enable_events(destination=[NAME], reply=True, timeout=5, limit=1)[0][NAME] == {
        "ok": "task events enabled"
    }
    children = len(site.children("steps"))
    control(site).pool_grow(1, destination=[NAME], reply=True, timeout=5, limit=1)
    eventually(lambda: len(site.children("steps")) == children + 1, timeout=30)
    assert site.terminate("steps") == 0


@pytest.mark.parametrize("listed", ["pool grow", "shutdown;", ""])
def test_a_name_that_can_be_no_command_is_refused(listed: str) -> None:
    from pydantic import ValidationError

    from remand_app.config import Settings

    if not listed:
        assert Settings.model_validate({"commands": {"control": listed}}).commands.control == ()
        return
    with pytest.raises(ValidationError, match="names of commands"):
        Settings.model_validate({"commands": {"control": listed}})
