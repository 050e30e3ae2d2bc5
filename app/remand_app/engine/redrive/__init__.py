"""Bulk verbs on dead letters: plan (fix the exact set, forecast), start, watch, pause, resume, cancel.

A redrive is a durable order in Postgres. The verbs here only change the order; the sweep of the same name
carries it out, batch by batch. A crash on the way leaves nothing half done.
"""

from remand_app.engine.redrive.outlook import Forecast, ForecastCheck, GroupShare, forecast
from remand_app.engine.redrive.plan import Options, Plan, plan
from remand_app.engine.redrive.progress import Progress, progress
from remand_app.engine.redrive.verbs import cancel, pause, resume, start
from remand_app.engine.redrive.view import find, get, items_page, list_page
from remand_app.engine.redrive.waits import Wait

__all__ = [
    "Forecast",
    "ForecastCheck",
    "GroupShare",
    "Options",
    "Plan",
    "Progress",
    "Wait",
    "cancel",
    "find",
    "forecast",
    "get",
    "items_page",
    "list_page",
    "pause",
    "plan",
    "progress",
    "resume",
    "start",
]
