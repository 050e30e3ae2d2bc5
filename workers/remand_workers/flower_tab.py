"""A tab in Flower: how much waits in which queue and for how long, what is paused, which breakers are open.

Flower's own pages show bells; the work is in Postgres. The tab reads Postgres, read-only, behind Flower's
login. Flower documents no way to add a page: the tab uses the parts from which Flower makes its application,
`urls.handlers` and `urls.settings`, and Tornado's `template_loader`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flower import urls
from flower.api import BaseApiHandler
from flower.views import BaseHandler
from tornado.ioloop import IOLoop
from tornado.template import DictLoader
from tornado.web import authenticated, url

from remand.errors import RemandError
from remand_app.resources.breakers import breakers
from remand_app.resources.queues import queues
from remand_app.resources.wording import age, span
from remand_workers import process
from remand_workers.celery import settings

NAME = "remand"
REFRESH_SECONDS = 10
_PAGE = Path(__file__).with_name("flower_tab.html")
_END_OF_TABS = "</ul>"
_LINK = """<li class="nav-item">
          <a class="nav-link{% if active_tab == 'remand' %} active{% end %}"
            href="{{ reverse_url('remand') }}">Remand queues</a>
        </li>
      """


def look() -> dict[str, Any]:
    """Return the state of queues and breakers, or `error`: why it cannot be read."""
    try:
        runtime = process.runtime()
        runtime.check_schema()
        return {
            "queues": [asdict(queue) for queue in queues(runtime.engine)],
            "breakers": [asdict(breaker) for breaker in breakers(runtime.engine)],
        }
    except RemandError as error:
        return {"error": error.to_dict()}


async def _looked() -> dict[str, Any]:
    # It may take seconds to find that Postgres is away: Flower's loop must not wait for it.
    return await IOLoop.current().run_in_executor(None, look)


class Tab(BaseHandler):
    """The page."""

    @authenticated
    async def get(self) -> None:
        """Answer with tables, with 503 and the reason if the database is away."""
        shown = await _looked()
        self.set_status(503 if "error" in shown else 200)
        self.set_header("Refresh", str(REFRESH_SECONDS))
        self.render(_PAGE.name, told=shown, age=age, span=span, dashboard=settings.web.dashboard_url)


class Api(BaseApiHandler):
    """The same for programs; like Flower's API, it answers only where a login is configured."""

    @authenticated
    async def get(self) -> None:
        """Answer with JSON."""
        shown = await _looked()
        self.set_status(503 if "error" in shown else 200)
        self.set_header("Content-Type", "application/json; charset=UTF-8")
        self.write(json.dumps(shown, default=lambda instant: instant.isoformat()))


def install() -> None:
    """Add the tab to the Flower that this process is about to start. Idempotent."""
    if any(getattr(handler, "name", None) == NAME for handler in urls.handlers):
        return
    urls.handlers[:0] = [url("/remand", Tab, name=NAME), url("/api/remand", Api)]
    pages = {
        path.name: path.read_text(encoding="utf-8")
        for path in Path(urls.settings["template_path"]).glob("*.html")
    }
    pages["navbar.html"] = pages["navbar.html"].replace(_END_OF_TABS, _LINK + _END_OF_TABS, 1)
    pages[_PAGE.name] = _PAGE.read_text(encoding="utf-8")
    urls.settings["template_loader"] = DictLoader(pages)
