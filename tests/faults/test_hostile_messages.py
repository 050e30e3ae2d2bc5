"""Whatever lies in a queue: the worker lives, what cannot be read becomes one dead letter, work goes on.

Source: B14.
"""

from __future__ import annotations

from tests.support.hostile import COMMANDS, Hostile, Sender
from tests.support.site import SUPPORT, Site
from tests.support.site_fixtures import OpenSite
from tests.support.waiting import eventually


def letters(site: Site) -> int:
    return int(site.database.call("select count(*) from remand.dead_letters where source = 'message'")[0][0])


def is_kept(site: Site, refused: list[Hostile]) -> bool:
    rows = site.database.call("select input -> 'headers' ->> 'origin' from remand.workflows")
    told = {row[0] for row in rows}
    missing = [one.name for one in refused if one.names_itself and one.name not in told]
    assert not missing, f"{missing}"
    assert [name for name in told if name and name not in {one.name for one in refused}] == []
    assert letters(site) == len(refused)
    return True


def test_no_message_ends_a_worker_and_each_that_cannot_be_read_is_a_letter(open_site: OpenSite) -> None:
    site = open_site()
    sender = Sender(site.settings.broker_url or "")
    worker = site.start_worker("steps", ("steps", *SUPPORT))
    before = site.submit("site/one")
    eventually(lambda: site.states([before]) == {"complete": 1}, timeout=60)
    refused, harmless = sender.kinds()
    sender.send("steps", [*harmless, *refused])
    eventually(lambda: is_kept(site, refused), timeout=60)
    # Delivered again, as after a restart of the broker: no letter more.
    sender.send("steps", refused)
    sender.send("retry.never", refused[:3])
    eventually(lambda: letters(site) == len(refused) + 3, timeout=120)
    after = site.submit_many(5, "site/chain")
    eventually(lambda: site.states(after) == {"complete": 5}, timeout=60)
    assert letters(site) == len(refused) + 3
    assert worker.poll() is None


def test_no_command_of_the_remote_control_ends_a_worker(open_site: OpenSite) -> None:
    site = open_site()
    sender = Sender(site.settings.broker_url or "")
    worker = site.start_worker("steps")
    control = site._bell._app.control
    eventually(lambda: control.ping(timeout=2), timeout=60)
    for clock in (7, "many", [1], 2**62):
        sender.broadcast(COMMANDS, {"clock": clock})
    eventually(lambda: control.ping(timeout=2) == [{"steps@site": {"ok": "pong"}}], timeout=60)
    after = site.submit("site/one")
    eventually(lambda: site.states([after]) == {"complete": 1}, timeout=60)
    assert worker.poll() is None
    assert letters(site) == 0
