"""What the driver's errors say, without the values that Postgres was sent.

The driver repeats statements and rows: `LINE 1: insert … values ('hash')`, `DETAIL: Failing row (…)`.
None of that may leave the store.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg2

from remand.redact import redact_text


def said(error: BaseException) -> str:
    """Return what the server said, in one line, without what it was sent."""
    if not isinstance(error, psycopg2.Error) or error.pgcode is None:
        # An error of the connection, not of a statement: no value was sent.
        return redact_text(" ".join(str(error).split())) or type(error).__name__
    words = error.diag.message_primary or str(error).partition("\n")[0]
    if error.pgcode.startswith("22"):
        # Messages of data errors quote the value itself.
        words = re.sub(r'".*"', '"…"', words, flags=re.DOTALL)
    return redact_text(" ".join(words.split()))


def cleaned(error: Any) -> Any:
    """Return an error of the same class and code, without the values that were sent."""
    if isinstance(getattr(error, "orig", None), psycopg2.Error):
        error.orig = cleaned(error.orig)
        error.args = (f"({type(error.orig).__name__}) {error.orig}",)
        error.__cause__ = error.orig
        return error
    if not isinstance(error, psycopg2.Error):
        return error
    words = said(error)
    clean = type(error)(words)
    clean.__setstate__({"pgcode": error.pgcode, "pgerror": words})  # type: ignore[no-untyped-call]  # as pickle does
    return clean.with_traceback(error.__traceback__)
