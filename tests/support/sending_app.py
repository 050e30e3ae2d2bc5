"""A user's Celery app on the broker that Remand uses, too; the handlers of its package send its tasks."""

from __future__ import annotations

import os

from celery import Celery

app = Celery("shop", broker=os.environ.get("REMAND_BROKER_URL"))

from tests.support import sending_handlers  # noqa: E402, F401 - as users write it: the app first
