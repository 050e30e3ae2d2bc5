"""How answers are written: tables and texts for people, one JSON document on standard output for programs.

Text from users is never read as markup. Colours are off when the output is no terminal, or NO_COLOR is set.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from remand_app.cli.render.listing import Facts, Listing, goes_on
from remand_app.cli.streams import print_json
from remand_app.domain.page import Page
from remand_app.domain.printable import printable
from remand_app.resources.state_tones import Tone, tone
from remand_app.resources.wording import age, ahead, now, short, short_ids, span

__all__ = [
    "Output", "age", "ahead", "facts", "json_text", "now", "short", "short_ids", "size", "span", "state",
    "style", "table",
]  # fmt: skip
if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PIPED_WIDTH = 200
"""Columns where nobody looks at the width: wide enough that no cell is cut."""

_STYLES: Mapping[Tone, str] = {
    "good": "green",
    "bad": "red",
    "warn": "yellow",
    "busy": "cyan",
    "quiet": "dim",
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
            # The terminal breaks what is longer than a line: a link must stay one link.
            self.console.print(part, crop=False)

    def answer_page(self, page: Page[Any], *shown: RenderableType, **more: object) -> None:
        """Print a page of a list once, and to people how it goes on; `more`: what belongs to no item."""
        self.answer({"items": page.items, "next": page.next, "total": page.total, **more}, *shown)
        if page.next is not None and not self.as_json:
            # A cursor is copied: it stays in one piece at any width.
            self.errors.print(goes_on(page), style="dim", soft_wrap=True)

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
        text, chosen = _harmless(renderable), options or self.options
        if any(cell_len(word) > chosen.max_width for word in text.plain.split()):
            chosen = chosen.update(no_wrap=True, overflow="ignore")
        return super().render(text, chosen)


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
    return Listing(columns, ([_cell(cell) for cell in row] for row in rows), folds=folds)


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
    return Text(name, style=style(name))


def style(name: str) -> str:
    """Return the colour of a state."""
    return _STYLES.get(tone(name), "")


def size(number: float) -> str:
    """Return bytes as "4 MB"."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 1024 and len(units) > 1:
        number /= 1024
        units.pop(0)
    return f"{number:.0f} {units[0]}"
