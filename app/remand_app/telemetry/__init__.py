"""Own what the product says about itself: the catalogue of events and the shape of a log line.

Code logs an event by its catalogued name, `log("drain.ended", queue=…)`, and never thinks of levels, formats
or secrets. While a step runs, its ids are in every line. Knows no settings and no store.
"""

from remand_app.telemetry.events import EVENTS, EventName, EventSpec
from remand_app.telemetry.lines import (
    configure_logging,
    configure_logging_late,
    lines_belong_to,
    lines_belong_to_nothing,
    log,
    silence,
)

__all__ = [
    "EVENTS",
    "EventName",
    "EventSpec",
    "configure_logging",
    "configure_logging_late",
    "lines_belong_to",
    "lines_belong_to_nothing",
    "log",
    "silence",
]
