"""Standard output and standard error of the process: output is made harmless, and a closed stream is no bug.

Standard output carries the answer: a failed write is reported, and a reader that has gone ends the command.
Standard error carries remarks: the command runs the same whether anybody reads them or not.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any, TextIO
from uuid import UUID

from remand_app.cli.exits import BROKEN_PIPE
from remand_app.stderr import complain


class ReaderGone(Exception):
    """Whoever read the answer has seen enough. No `OSError`: others would take it for theirs."""


class OutputLost(Exception):
    """The answer could not be written: standard output is full, or is no place to write to."""


class _Answer(io.TextIOWrapper):
    """Standard output; a failure to write is told from all other errors of the system.

    Raises:
        ReaderGone: nobody reads on.
        OutputLost: anything else.
    """

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise self._lost(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise self._lost(error) from None

    def _lost(self, error: OSError) -> Exception:
        _forget(self)
        return ReaderGone() if isinstance(error, BrokenPipeError) else OutputLost(error.strerror)


class _Aside(io.TextIOWrapper):
    """Standard error; what cannot be written there is nobody's loss."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            _forget(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            _forget(self)


def _forget(stream: io.TextIOWrapper) -> None:
    # Writing what is still in the buffer would fail again when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def take_over() -> None:
    """Make the process's streams ours; those that are closed lead nowhere from now on."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next file or socket that is opened would become a standard stream.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    sys.stdout = _made(_Answer, sys.stdout, 1)
    sys.stderr = _made(_Aside, sys.stderr, 2)


def _made(kind: type[io.TextIOWrapper], stream: TextIO | None, number: int) -> io.TextIOWrapper:
    encoding = stream.encoding if stream is not None else "utf-8"
    raw = io.FileIO(number, "w", closefd=False)
    is_terminal = os.isatty(number)
    return kind(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors="replace",
        line_buffering=is_terminal or number == 2,
    )


def finish(code: int) -> int:
    """Write out what is left; return the exit code that holds then."""
    try:
        sys.stdout.flush()
    except ReaderGone:
        return BROKEN_PIPE
    except OutputLost as lost:
        show_lost(lost)
        return code or 1
    finally:
        sys.stderr.flush()
    return code


def show_lost(lost: OutputLost) -> None:
    """Say that nobody could be answered."""
    complain("OUTPUT_LOST", f"the answer could not be written: {lost}", "what the command does was done")


def print_json(value: object) -> None:
    """Print one JSON document on standard output, in ASCII alone: indented on a terminal."""
    indent = 2 if sys.stdout.isatty() else None
    sys.stdout.write(json.dumps(to_json(value), ensure_ascii=True, indent=indent) + "\n")


def to_json(value: Any) -> Any:
    """Return a value as JSON types: instants in ISO 8601, durations in seconds, ids as text."""
    match value:
        case Enum() | UUID() | PurePath():
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Mapping():
            return {str(key): to_json(item) for key, item in value.items()}
        case _ if dataclasses.is_dataclass(value):
            return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case _ if hasattr(value, "model_dump"):  # of pydantic, which is not loaded for this
            return value.model_dump(mode="json", exclude_unset=True)
        case _:
            return [to_json(item) for item in value]
