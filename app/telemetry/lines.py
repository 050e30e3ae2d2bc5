"""Turn events, ours and those of libraries, into lines of one shape on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TextIO
from uuid import UUID

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from app.telemetry.events import EVENTS, EventName
from app.telemetry.metrics import LOGGED_EVENTS
from app.telemetry.tally import count
from remand.redact import redact_json

LOGGER = "remand"

# A drain's own line says more than Celery's "received" and "succeeded" for the bell that woke it.
_DROWNED_OUT = ("celery.app.trace", "celery.worker.strategy", "celery.beat")


class _Threshold:
    """The level that was configured; below it an event costs a comparison and no more."""

    level = logging.NOTSET


_threshold = _Threshold()


_silent: ContextVar[bool] = ContextVar("silent", default=False)


_step: ContextVar[tuple[UUID, str, int] | None] = ContextVar("step", default=None)


def lines_belong_to(workflow_id: UUID, step: str, attempt: int) -> None:
    """Put these ids into every line of this context, whoever writes it. Costs a tenth of a microsecond."""
    _step.set((workflow_id, step, attempt))


def lines_belong_to_nothing() -> None:
    """End that."""
    _step.set(None)


def _with_step(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    step = _step.get()
    if step is not None:
        for name, value in zip(("workflow_id", "step", "attempt"), (str(step[0]), *step[1:]), strict=True):
            event.setdefault(name, value)
    return event


@contextmanager
def silence() -> Iterator[None]:
    """Write no events of this context: what happens in it is only tried."""
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
        raise LookupError(f"no event {event!r} in the catalogue: add it to app/telemetry/events.py")
    if _silent.get():
        return
    count(LOGGED_EVENTS, event)
    if spec.level < _threshold.level:
        return
    structlog.stdlib.get_logger(LOGGER).log(spec.level, event, **fields)


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
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_common(), processors=[*_finish(redact_keys), _renderer(format, handler.stream)]
        )
    )
    root = logging.getLogger()
    _threshold.level = logging.getLevelNamesMapping()[level]
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _DROWNED_OUT:
        logging.getLogger(name).setLevel(
            max(root.level, logging.WARNING) if root.level > logging.DEBUG else level
        )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_common(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def _common() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        _with_step,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _finish(redact_keys: Collection[str]) -> list[Processor]:
    # Tracebacks are text before the redaction, not after it: they quote connection strings.
    return [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        _Redaction(redact_keys),
        _in_reading_order,
    ]


class _Redaction:
    """Mask secrets in everything a line carries."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Collection[str]) -> None:
        self._keys = tuple(keys)

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        masked = redact_json(event, self._keys)
        assert isinstance(masked, dict)
        return masked


def _in_reading_order(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    first = {key: event[key] for key in ("timestamp", "level", "event") if key in event}
    return {**first, **event}


def _renderer(format: str, stream: TextIO) -> Processor:  # noqa: A002 - as above
    if format == "json":
        return structlog.processors.JSONRenderer(default=str, ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=24
    )
