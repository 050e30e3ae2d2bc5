"""Own how answers look: tables and texts for people, one JSON document on standard output for programs.

Nothing a user wrote is read as markup. Colours end where the terminal does, or where NO_COLOR is set.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from app.cli.render.listing import Facts, Listing
from app.cli.streams import print_json
from app.domain.page import Page
from app.domain.printable import printable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PIPED_WIDTH = 200
"""Columns where nobody looks at the width: wide enough that no cell is cut."""

SHORTEST_ID = 6

STATE_STYLES: Mapping[str, str] = {
    "complete": "green",
    "resolved_manually": "green",
    "requeued": "green",
    "manually_resolved": "green",
    "in_progress": "cyan",
    "running": "cyan",
    "steps_in_process": "cyan",
    "investigating": "cyan",
    "enqueued": "blue",
    "waiting_for_retry": "yellow",
    "enqueued_as_error_for_orchestration": "yellow",
    "blocked_by_failures": "red",
    "error": "red",
    "failed": "red",
    "timed_out": "red",
    "lost": "red",
    "permanently_failed": "red",
    "open": "red",
    "half_open": "yellow",
    "releasing": "yellow",
    "closed": "green",
    "paused": "yellow",
    "pending": "dim",
    "cancelled": "dim",
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
    "canary": "cyan",
    "finished": "green",
    "succeeded": "green",
    "stopped": "red",
    "skipped": "yellow",
    "not_found": "yellow",
    "planned": "dim",
    "resolved": "green",
}


class Output:
    """Where a verb's answer goes."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = _console(sys.stdout)
        self.errors = _console(sys.stderr)

    def answer(self, value: Mapping[str, Any] | DataclassInstance, *shown: RenderableType) -> None:
        """Print the answer once: `value` as JSON, or what is `shown` to people.

        A list is answered by `answer_page`: all lists look alike.
        """
        if self.as_json:
            print_json(value)
            return
        for part in shown:
            # What is longer than a line is for the terminal to break: a link must stay one.
            self.console.print(part, crop=False)

    def answer_page(self, page: Page[Any], *shown: RenderableType, **more: object) -> None:
        """Print a page of a list once, and to people how it goes on; `more`: what belongs to no item."""
        self.answer({"items": page.items, "next": page.next, "total": page.total, **more}, *shown)
        if page.next is not None and not self.as_json:
            # A cursor is copied: it stays in one piece at any width.
            self.errors.print(_goes_on(page), style="dim", soft_wrap=True)

    def answer_lines(self, value: Mapping[str, Any] | DataclassInstance, lines: Iterable[str]) -> None:
        """Print the answer once; lines that are copied, or read by a shell, stay whole at any width."""
        if self.as_json:
            print_json(value)
            return
        for line in lines:
            self.console.print(line, soft_wrap=True)

    def say(self, text: str | Text, style: str = "") -> None:
        """Tell something that is no part of the answer, on standard error."""
        self.errors.print(text, style=style or None)


def _goes_on(page: Page[Any]) -> str:
    shown = f"{len(page.items)} of {page.total}" if page.total is not None else f"{len(page.items)}, and more"
    return f"{shown}; next: --after {page.next}"


def _console(stream: Any) -> Console:
    columns = os.environ.get("COLUMNS", "")
    width = None if stream.isatty() else int(columns) if columns.isdecimal() else PIPED_WIDTH
    return _Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


class _Console(Console):
    """A console on which nothing but our own styles steers the terminal, whoever wrote the text."""

    def render_str(self, text: str, **more: Any) -> Text:
        """Return what a text looks like."""
        return super().render_str(printable(text), **more)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the parts of what is shown."""
        if not isinstance(renderable, Text):
            return super().render(renderable, options)
        text, given = _harmless(renderable), options or self.options
        if any(cell_len(word) > given.max_width for word in text.plain.split()):
            given = given.update(no_wrap=True, overflow="ignore")
        return super().render(text, given)


def _harmless(text: Text) -> Text:
    plain = text.plain
    if printable(plain) == plain:
        return text
    made = text.blank_copy()
    for part in text.divide(range(1, len(plain))):
        part.plain = printable(part.plain)
        made.append_text(part)
    return made


def table(*columns: str, rows: Iterable[Sequence[str | Text]], folds: bool = True) -> Listing:
    """Return a plain table; a cell that does not fit is folded, or cut."""
    return Listing(columns, ([_cell(one) for one in row] for row in rows), folds=folds)


def facts(rows: Iterable[tuple[str, str | Text | None]]) -> Facts:
    """Return names and values, one a line; rows without a value are left out."""
    return Facts((name, _cell(value)) for name, value in rows if value is not None and value != "")


def _cell(value: str | Text) -> Text:
    return Text(printable(value)) if isinstance(value, str) else _harmless(value)


def json_text(value: Any) -> str:
    """Return a user's value as one line of JSON, which `--input` takes back."""
    return json.dumps(value, ensure_ascii=False)


def state(name: str) -> Text:
    """Return a state in its colour."""
    return Text(name, style=STATE_STYLES.get(name, ""))


def now() -> datetime:
    """Return this machine's instant, to say how old things are."""
    return datetime.now(UTC)


def age(instant: datetime | None, at: datetime | None = None) -> str:
    """Return how long ago an instant was, or how far it is ahead as "in …"; "" for None."""
    if instant is None:
        return ""
    seconds = ((at or now()) - instant).total_seconds()
    return span(seconds) if seconds >= 0 else f"in {span(-seconds)}"


def ahead(instant: datetime, at: datetime | None = None) -> str:
    """Return how far an instant is ahead as "in …", "now" once it has come."""
    return age(instant, at) if instant > (at or now()) else "now"


def span(seconds: float) -> str:
    """Return a duration with the unit people would use."""
    if seconds < 0.95:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"


def size(number: float) -> str:
    """Return bytes as "4 MB"."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 1024 and len(units) > 1:
        number /= 1024
        units.pop(0)
    return f"{number:.0f} {units[0]}"


def short_ids(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return for each id the end of it that no other of them has, all of one length."""
    wanted = set(ids)
    for length in range(SHORTEST_ID, 13):
        ends = {str(one)[-length:] for one in wanted}
        if len(ends) == len(wanted):
            return {one: str(one)[-length:] for one in wanted}
    return {one: str(one) for one in wanted}


def short(one: UUID) -> str:
    """Return the end of one id, as lists show it."""
    return str(one)[-SHORTEST_ID:]
