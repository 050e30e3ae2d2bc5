"""This code goes on beside the schema of a later release: columns more, an index, a function more."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from remand_app.engine.worker_limits import live_workers
from remand_app.store import schema
from remand_app.store.workers import listed
from tests.support.rehearsed import INDEX, PLACES
from tests.support.site import Site
from tests.support.waiting import eventually

_IS_VALID = "select indisvalid from pg_index where indexrelid = 'remand.steps_by_cost'::regclass"


@contextmanager
def load(site: Site) -> Iterator[list[int]]:
    """Submit all the time; yield how many each time."""
    submitted: list[int] = []
    is_over = threading.Event()

    def submit() -> None:
        while not is_over.wait(0.1):
            submitted.append(len(site.submit_many(3, "site/diamond")))

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        yield submitted
    finally:
        is_over.set()
        thread.join()


def test_this_code_goes_on_beside_a_later_schema(shared_site: Site) -> None:
    site = shared_site
    site.start_worker("before")
    site.ready("before")
    said: list[str] = []

    with load(site) as submitted:
        schema.migrate(site.database, INDEX, places=PLACES, say=said.append)
        migrated = len(submitted)
        # What starts now finds a revision that it does not know, and that serves it.
        site.start_worker("after")
        site.ready("after")
        eventually(lambda: len(submitted) > migrated + 10, timeout=60)

    site.settle()
    live = live_workers(site.engine)
    assert {worker.hostname for worker in live} >= {"before@site", "after@site", "support@site"}
    assert {worker.id for worker in live} <= {worker.id for worker in listed(site.database)}
    findings = {finding["subject"]: finding["level"] for finding in site.cli("doctor")["findings"]}
    assert findings["schema"] == "ok"
    assert site.cli("migrate")["to"] == INDEX
    assert len([line for line in said if "index steps_by_cost on remand.steps_" in line]) >= 4
    assert site.database.call(_IS_VALID) == [(True,)]

    with load(site):
        schema.migrate(site.database, schema.head(), places=PLACES)
    site.settle()
    assert schema.check(site.database) == schema.head()
