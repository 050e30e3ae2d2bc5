"""Own what the product says about itself: the catalogue of events and the shape of a log line.

Code logs an event by its catalogued name, `log("drain.ended", queue=…)`, and never thinks of levels, formats
or secrets. Ids that hold for a stretch of work are bound once with `bound`. Knows no settings and no store.
"""

from structlog.contextvars import bound_contextvars as bound

from app.telemetry.events import EVENTS, EventName, EventSpec
from app.telemetry.lines import configure_logging, log, silence

__all__ = ["EVENTS", "EventName", "EventSpec", "bound", "configure_logging", "log", "silence"]
