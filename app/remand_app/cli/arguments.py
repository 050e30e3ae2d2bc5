"""Read what people type: JSON from the line, a file or standard input; durations and instants."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import typer

from remand_app.domain import durations
from remand_app.domain.errors import DurationInvalid, InputInvalid, InstantInvalid
from remand_app.domain.instants import EARLIEST, read_instant


def read_json(typed: str, what: str) -> Any:
    """Return the JSON that an option holds: the text itself, `@FILE`, or `-` for standard input.

    Raises:
        InputInvalid: there is no such file, or it is not JSON; says where.
    """
    text, place = _text(typed, what)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputInvalid(
            f"the {what}{place} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            hint="quote it for the shell, or put it into a file: --input @FILE",
        ) from None
    except ValueError as error:
        raise InputInvalid(f"the {what}{place} is not JSON: {error}") from None


def _text(typed: str, what: str) -> tuple[str, str]:
    if typed != "-" and not typed.startswith("@"):
        return typed, ""
    place = " from standard input" if typed == "-" else f" in {typed[1:]}"
    try:
        # Some editors put a byte order mark before UTF-8 text; it is no part of the text.
        return read_bytes(typed.removeprefix("@"), what).decode("utf-8-sig"), place
    except UnicodeDecodeError:
        raise InputInvalid(f"the {what}{place} is not UTF-8 text") from None


def read_bytes(typed: str, what: str) -> bytes:
    """Return what a file holds, or standard input for "-", whatever the locale takes its encoding for.

    Raises:
        InputInvalid: there is no such file.
    """
    if typed == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(typed).read_bytes()
    except OSError as error:
        raise InputInvalid(f"the {what} cannot be read from {typed}: {error.strerror}") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def read_seconds(typed: str) -> float:
    """Return the seconds of a duration such as "30m".

    Raises:
        typer.BadParameter: it is none, or out of bounds.
    """
    try:
        return durations.read_seconds(typed)
    except DurationInvalid as error:
        raise typer.BadParameter(error.message) from None


def read_since(typed: str, now: datetime) -> datetime:
    """Return the instant that "2h" (ago), "2026-11-27" or "2026-11-27T08:00" means; without a zone it is UTC.

    Raises:
        typer.BadParameter: it means none.
    """
    try:
        if durations.is_duration(typed):
            ago = durations.read_seconds(typed, longest=durations.CENTURY_SECONDS)
            return max(EARLIEST, now - timedelta(seconds=ago))
        return read_instant(typed, naive_is_utc=True)
    except DurationInvalid as error:
        raise typer.BadParameter(error.message) from None
    except InstantInvalid as error:
        raise typer.BadParameter(
            f"{error.message}; give a duration (90s, 15m, 2h, 7d) or an instant (2026-11-27T08:00)"
        ) from None
