"""Celery's side: thin tasks around the engine. Start them with `celery -A remand_workers worker -Q steps`.

The tasks hold no logic: each calls one verb of `remand_app.engine` and returns what a log line needs.
"""

import sys

from remand_app.extras import require

# Before anything that the client alone does not bring: whoever starts this is told what to install.
require("server", "a worker")
if "flower" in sys.argv:
    require("flower", "Flower")

from remand_workers import health_files, heartbeat, messages, metrics, naming, refusals, stopping  # noqa: E402 - as above
from remand_workers.celery import app as celery  # noqa: E402 - as above

messages.install()
refusals.install()
naming.install()
heartbeat.install(celery)
health_files.install()
stopping.install()
metrics.install()
if "flower" in sys.argv:
    from remand_workers import flower_tab

    flower_tab.install()

__all__ = ["celery"]
