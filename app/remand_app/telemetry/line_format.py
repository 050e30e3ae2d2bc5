"""Format log lines: Remand's events and records of libraries go through one formatter of structlog.

Loaded when logging is configured or the first line is written: commands that write none do not pay for it.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection
from typing import Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from remand.redact import redact_json
from remand_app.domain.printable import printable
from remand_app.telemetry.lines import LOGGER, step_of_lines, write_from

_OF_LINES = frozenset({"event", "exception", "stack"})
"""Fields that may have several lines on a console."""
# A drain's own line says more than Celery's "received" and "succeeded" for the bell that started it.
_DROWNED_OUT = ("celery.app.trace", "celery.worker.strategy", "celery.beat")
# Its debug lines contain whole messages: users' values and the senders' tokens.
_REPEATS_MESSAGES = "celery.pool"


def write(level: int, event: str, fields: dict[str, object]) -> None:
    """Write one of our events."""
    structlog.stdlib.get_logger(LOGGER).log(level, event, **fields)


def configure(
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
    write_from(level)
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _DROWNED_OUT:
        logging.getLogger(name).setLevel(
            max(root.level, logging.WARNING) if root.level > logging.DEBUG else level
        )
    logging.getLogger(_REPEATS_MESSAGES).setLevel(max(root.level, logging.INFO))
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


def _with_step(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    step = step_of_lines()
    if step is not None:
        for name, value in zip(("workflow_id", "step", "attempt"), (str(step[0]), *step[1:]), strict=True):
            event.setdefault(name, value)
    return event


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
        return structlog.processors.JSONRenderer(default=str, ensure_ascii=True)
    console = structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=24
    )

    def render(logger: WrappedLogger, method: str, event: EventDict) -> str:
        return console(logger, method, {key: _harmless(key, value) for key, value in event.items()})

    return render


def _harmless(key: str, value: object) -> object:
    if not isinstance(value, str):
        return value
    # Only multi-line fields keep line breaks: otherwise a value could forge the next line.
    return printable(value) if key in _OF_LINES else printable(value).replace("\n", "\\n")
