"""How JSON is read from Postgres, which stores numbers that Python refuses: those of more than 4 300 digits.

A page shows a text in place of such a value. What a step works on must be read exactly, or not at all.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Final

import psycopg2.extras

DEEP: Final = "[nested too deeply to be read]"


class _Unread(threading.local):
    """How often this thread met a value that it could not read."""

    count = 0


_unread = _Unread()


def install() -> None:
    """Read all JSON of all connections in this way. Idempotent."""
    psycopg2.extras.register_default_json(globally=True, loads=read)
    psycopg2.extras.register_default_jsonb(globally=True, loads=read)


def read(text: str) -> Any:
    """Return the value; where Python cannot read a part of it, a text that says so."""
    try:
        return json.loads(text)
    except RecursionError:
        _unread.count += 1
        return DEEP
    except ValueError:
        _unread.count += 1
        return json.loads(text, parse_int=_number)


def unread() -> int:
    """Return how often this thread met a value that it could not read: a higher number means a new one."""
    return _unread.count


def _number(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:
        return f"[a number of {len(digits.removeprefix('-'))} digits]"
