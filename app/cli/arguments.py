"""Read what people type: JSON from the line, a file or standard input; durations and instants."""

from __future__ import annotations

import json
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from app.domain.errors import InputInvalid

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|d|w)")
_LONGEST_SECONDS = 366 * 86_400


def read_json(given: str, what: str) -> Any:
    """Return the JSON that an option holds: the text itself, `@FILE`, or `-` for standard input.

    Raises:
        InputInvalid: there is no such file, or it is not JSON; says where.
    """
    text, place = _text(given, what)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputInvalid(
            f"the {what}{place} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            hint="quote it for the shell, or put it into a file: --input @FILE",
        ) from None
    except ValueError as error:
        raise InputInvalid(f"the {what}{place} is not JSON: {error}") from None


def _text(given: str, what: str) -> tuple[str, str]:
    if given == "-":
        return sys.stdin.read(), " from standard input"
    if not given.startswith("@"):
        return given, ""
    path = Path(given[1:])
    try:
        return path.read_text(encoding="utf-8"), f" in {path}"
    except OSError as error:
        raise InputInvalid(f"the {what} cannot be read from {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputInvalid(f"the {what} in {path} is not UTF-8 text") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def read_seconds(given: str) -> float:
    """Return the seconds of a duration such as "30m".

    Raises:
        typer.BadParameter: it is none, or nothing.
    """
    found = _DURATION.fullmatch(given.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise typer.BadParameter(f"{given!r} is no duration such as 90s, 15m, 2h or 7d, of a year at most")
    return seconds


def read_since(given: str, now: datetime) -> datetime:
    """Return the instant that "2h" (ago), "2026-11-27" or "2026-11-27T08:00" means; without a zone it is UTC.

    Raises:
        typer.BadParameter: it means none.
    """
    if found := _DURATION.fullmatch(given.strip()):
        return now - timedelta(seconds=float(found[1]) * _UNITS[found[2]])
    try:
        instant = datetime.fromisoformat(given)
    except ValueError:
        raise typer.BadParameter(
            f"{given!r} is neither a duration (90s, 15m, 2h, 7d) nor an instant (2026-11-27T08:00)"
        ) from None
    return instant if instant.tzinfo else instant.replace(tzinfo=now.tzinfo)
