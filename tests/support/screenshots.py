"""Pictures of the dashboard's main pages for the docs: `make screenshots`.

It needs Chromium; the servers are those of a test run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Page

from remand_app.store.database import Database
from tests.support import chromium
from tests.support.clock import FakeClock
from tests.support.databases import Cluster
from tests.support.demo_site import PASSWORD, Served, seed
from tests.support.engine import Harness, settings_for
from tests.support.servers import servers

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
MOST_BYTES = 200_000
_PAGES = {
    "overview": "/",
    "dead-letters": "/dlq",
    "letter": "/dlq/letters @ tbody a",
    "redrive": "/redrives/{redrive}",
    "workflow": "/workflows/{workflow}?step=charge-card",
}
_OTHERS = {
    "group": "/dlq @ .group",
    "letters": "/dlq/letters",
    "redrives": "/redrives",
    "workflows": "/workflows",
    "queues": "/queues",
    "workers": "/workers",
    "breakers": "/breakers",
    "templates": "/templates",
    "template": "/templates/shop/order/1",
    "audit": "/audit",
}


def main(folder: Path, pages: dict[str, str]) -> None:
    """Write the pictures of some pages into a folder."""
    if chromium.path() is None:
        sys.exit("no Chromium here: install one (Debian, Ubuntu: apt-get install chromium)")
    folder.mkdir(parents=True, exist_ok=True)
    with servers(f"pictures-{os.getpid()}") as up, _site(Cluster(up.database_url)) as url:
        harness = Harness(Database(url), clock=FakeClock(datetime.now(UTC) - timedelta(hours=3, minutes=10)))
        seeded = seed(harness)
        harness.clock.now = datetime.now(UTC)
        harness.worker.beat()
        settings = settings_for(database_url=url, broker_url="redis://127.0.0.1:1/0")
        with Served(settings, harness) as served, chromium.chromium() as browser:
            page = browser.new_page(viewport=WIDE)
            chromium.sign_in(page, served.url, "admin", PASSWORD)
            for name, where in pages.items():
                _open(page, served.url, where.format(**seeded._asdict()))
                _take(page, folder, name)
        harness.database.dispose()


@contextmanager
def _site(cluster: Cluster) -> Iterator[str]:
    with cluster.template(), cluster.fresh() as url:
        yield url


def _open(page: Page, url: str, where: str) -> None:
    path, _, link = where.partition(" @ ")
    page.set_viewport_size(WIDE)
    page.goto(url + path)
    if link:
        page.locator(link).first.click()
        page.wait_for_load_state()
    # A traceback names folders of the machine the picture is taken on.
    page.evaluate("document.querySelectorAll('details:has(.trace)').forEach((one) => { one.open = false })")


def _take(page: Page, folder: Path, name: str) -> None:
    for kind, scheme, size in (("light", "light", WIDE), ("dark", "dark", WIDE), ("phone", "light", PHONE)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        target = folder / f"{name}-{kind}.png"
        page.screenshot(path=target, full_page=kind == "light", animations="disabled")
        if target.stat().st_size > MOST_BYTES:
            page.screenshot(path=target, animations="disabled")
        print(f"{target} {target.stat().st_size // 1000} kB")


if __name__ == "__main__":
    # Those of the docs; with a folder of one's own every page, to look at.
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), {**_PAGES, **_OTHERS})
    else:
        main(Path("docs/images"), _PAGES)
