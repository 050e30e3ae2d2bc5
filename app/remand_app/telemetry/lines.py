"""Write events by their catalogued names; `shape` is loaded when there is a line to write."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TextIO
from uuid import UUID

from remand_app.telemetry.events import EVENTS, EventName
from remand_app.telemetry.metrics import LOGGED_EVENTS
from remand_app.telemetry.metrics_buffer import count

LOGGER = "remand"


class _Threshold:
    """The level that was configured; below it an event costs a comparison and no more.

    `late`: the level to configure logging with at the first line; None: logging is configured already, or was
    never requested.
    """

    level = logging.NOTSET
    late: str | None = None


_threshold = _Threshold()


_silent: ContextVar[bool] = ContextVar("silent", default=False)


_step: ContextVar[tuple[UUID, str, int] | None] = ContextVar("step", default=None)


def lines_belong_to(workflow_id: UUID, step: str, attempt: int) -> None:
    """Put these ids into every line of this context, whoever writes it. Costs a tenth of a microsecond."""
    _step.set((workflow_id, step, attempt))


def step_of_lines() -> tuple[UUID, str, int] | None:
    """Return the workflow, step and attempt that lines belong to now."""
    return _step.get()


def lines_belong_to_nothing() -> None:
    """Take the ids out of the lines of this context."""
    _step.set(None)


@contextmanager
def silence() -> Iterator[None]:
    """Write no events of this context: its changes are only rehearsed."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def log(event: EventName, **fields: object) -> None:
    """Write a catalogued event at the level the catalogue gives it.

    Fields outside the catalogue are written all the same; the test suite refuses them.

    Raises:
        LookupError: the catalogue does not know the name (mypy finds this before any test does).
    """
    spec = EVENTS.get(event)
    if spec is None:
        raise LookupError(f"no event {event!r} in the catalogue: add it to remand_app/telemetry/events.py")
    if _silent.get():
        return
    count(LOGGED_EVENTS, event)
    if spec.level < _threshold.level:
        return
    if _threshold.late is not None:
        configure_logging(_threshold.late)
    from remand_app.telemetry.line_format import write  # noqa: PLC0415 - structlog costs more than many a command

    write(spec.level, event, fields)


def write_from(level: str) -> None:
    """Write no events below this level from now on."""
    _threshold.level = logging.getLevelNamesMapping()[level]
    _threshold.late = None


def configure_logging(
    level: str = "INFO",
    format: Literal["console", "json"] = "console",  # noqa: A002 - named like the setting
    *,
    redact_keys: Collection[str] = (),
    stream: TextIO | None = None,
) -> None:
    """Send every record of this process, structlog's and the standard library's, through one formatter.

    Lines go to `stream`, standard error unless given: standard output belongs to results. Values under
    `redact_keys`, and in texts what looks like one, are masked in all of them.

    Idempotent: replaces the root logger's handlers.
    """
    from remand_app.telemetry.line_format import configure  # noqa: PLC0415 - see log

    configure(level, format, redact_keys=redact_keys, stream=stream)


class _Unconfigured(logging.Handler):
    """Configure logging at the first record, then pass the record on."""

    def emit(self, record: logging.LogRecord) -> None:
        configure_logging(logging.getLevelName(self.level))
        logging.getLogger().handle(record)


def configure_logging_late(level: str) -> None:
    """Configure logging at the first record: a command that succeeds logs nothing."""
    write_from(level)
    _threshold.late = level
    root = logging.getLogger()
    root.handlers[:] = [_Unconfigured(level)]
    root.setLevel(level)
