"""Lay out lists and facts for the width of the terminal: ids, counts and states whole, the rest as it fits.

On a narrow terminal, a list that does not fit has two lines for each item: short cells first, then names and
texts. On a wide terminal long cells are folded or cut, names in their middle. A long cell in one row takes no
width from the short columns of other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

from remand_app.domain.page import Page

NARROW = 100
"""Columns below which an item that does not fit has two lines."""
_LONG = 24
"""A column of longer cells gives way to the others."""
_LEAST = 16
_GAP = 2
_IDS = frozenset({"id", "workflow", "letter", "group", "notice", "redrive", "fingerprint"})
_FIRST_TO_GO = "24 hours"
_NOTHING = frozenset({"", "–"})
_NAMES = frozenset(
    {
        "template", "template and step", "step", "queue", "queues", "handler", "subject", "dead queue",
        "name", "target", "workers", "letters of queues", "depends on", "keys", "rule", "setting",
        "written at",
    }
)  # fmt: skip
"""Columns whose cells are cut in the middle: names tell themselves apart by their ends."""


class Listing:
    """A table without lines; a cell that does not fit is folded, or cut."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Text]], *, folds: bool) -> None:
        self._columns = columns
        self._rows = [list(row) for row in rows]
        self._folds = folds
        heads = [Text(name, style="bold") for name in columns]
        self._widths = [
            max(_width(row[number]) for row in [heads, *self._rows]) for number in range(len(columns))
        ]
        self._heads = heads

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines."""
        for line in self.lines(options.max_width):
            line.rstrip()
            line.no_wrap, line.overflow = True, "ignore"
            yield line

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return that it takes what there is."""
        return Measurement(1, options.max_width)

    def lines(self, width: int) -> Iterator[Text]:
        """Yield the list as lines of at most so many cells, where that is possible at all."""
        shown = list(range(len(self._columns)))
        if self._needed(shown) > width and _FIRST_TO_GO in self._columns:
            shown.remove(self._columns.index(_FIRST_TO_GO))
        least = sum(
            min(self._widths[column], _LEAST) if self._is_long(column) else self._widths[column]
            for column in shown
        )
        if self._needed(shown) <= width or (width >= NARROW and least + _GAP * (len(shown) - 1) <= width):
            yield from self._flat(shown, width)
        else:
            yield from self._two(shown, width)

    def _needed(self, shown: Sequence[int]) -> int:
        return sum(self._widths[column] for column in shown) + _GAP * (len(shown) - 1)

    def _is_long(self, number: int) -> bool:
        return self._widths[number] > _LONG and self._columns[number] not in _IDS

    def _flat(self, shown: Sequence[int], width: int) -> Iterator[Text]:
        long = [column for column in shown if self._is_long(column)]
        left = width - self._needed([column for column in shown if column not in long]) - _GAP * len(long)
        left += 0 if len(long) < len(shown) else _GAP
        widths = dict(zip(long, _shares([self._widths[column] for column in long], left), strict=True))
        for row in [self._heads, *self._rows] if any(self._columns) else self._rows:
            cells = [
                self._cell(row[column], column, widths.get(column, self._widths[column])) for column in shown
            ]
            sizes = [widths.get(column, self._widths[column]) for column in shown]
            yield from _side_by_side(cells, sizes)

    def _two(self, shown: Sequence[int], width: int) -> Iterator[Text]:
        long = [column for column in shown if self._is_long(column)]
        above, below = [column for column in shown if column not in long], list[int]()
        if shown[0] in long:
            # The name of an item comes first, however long it is.
            above, below, long = [shown[0]], above, long[1:]
        while len(above) > 1 and self._needed(above) > width:
            below.insert(0, above.pop())
        for row in [self._heads, *self._rows] if any(self._columns) else self._rows:
            sizes = [min(self._widths[column], width) for column in above]
            yield from _side_by_side(
                [self._cell(row[column], column, size) for column, size in zip(above, sizes, strict=True)],
                sizes,
            )
            if row is not self._heads:
                yield from self._named(row, below, width - _GAP)
            yield from self._texts(row, long, width - _GAP)

    def _named(self, row: Sequence[Text], numbers: Sequence[int], width: int) -> Iterator[Text]:
        # A number means nothing when it is away from its heading.
        cells = [
            Text.assemble((f"{self._columns[number]} ", "dim"), row[number])
            for number in numbers
            if row[number].plain not in _NOTHING
        ]
        for line in folded(Text(" · ").join(cells), width) if cells else ():
            yield Text.assemble(" " * _GAP, line)

    def _texts(self, row: Sequence[Text], numbers: Sequence[int], width: int) -> Iterator[Text]:
        cells = [(row[number], number) for number in numbers if row[number].plain]
        if self._folds:
            lines = [line for cell, number in cells for line in folded(cell, width)]
        else:
            sizes = _shares([_width(cell) for cell, _ in cells], width - 3 * (len(cells) - 1))
            parts = [
                self._cell(cell, number, size)[0] for (cell, number), size in zip(cells, sizes, strict=True)
            ]
            lines = [Text(" · ").join(parts)] if parts else []
        for line in lines:
            yield Text.assemble(" " * _GAP, line)

    def _cell(self, cell: Text, number: int, width: int) -> list[Text]:
        if self._folds:
            return folded(cell, width) or [Text()]
        flat = Text(" ").join(cell.split("\n", allow_blank=True))
        return [cut_in_the_middle(flat, width) if self._columns[number] in _NAMES else cut(flat, width)]


class Facts:
    """Names and values, one a line; a word that does not fit has a line of its own and is not broken."""

    def __init__(self, rows: Iterable[tuple[str, Text]]) -> None:
        self._rows = list(rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines."""
        for line in self.lines(options.max_width):
            line.rstrip()
            line.no_wrap, line.overflow = True, "ignore"
            yield line

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return that it takes what there is."""
        return Measurement(1, options.max_width)

    def lines(self, width: int) -> Iterator[Text]:
        """Yield the lines."""
        widest = max((cell_len(name) for name, _ in self._rows), default=0)
        for name, value in self._rows:
            lines = folded(value, max(width - widest - _GAP, 10), breaks=False) or [Text()]
            if max(_width(line) for line in lines) > width - widest - _GAP:
                # Below its name, where it stays in one piece if the terminal is wide enough.
                yield Text(name, style="bold")
                yield from folded(value, width, breaks=False)
                continue
            yield from _side_by_side([[Text(name, style="bold")], lines], [widest, 0])


def _width(text: Text) -> int:
    return max((cell_len(line) for line in text.plain.split("\n")), default=0)


def _shares(wanted: Sequence[int], width: int) -> list[int]:
    """Return how much of the width each gets: what it wants where that is less than its share."""
    shares = [0] * len(wanted)
    left, hungry = max(width, len(wanted)), sorted(range(len(wanted)), key=lambda number: wanted[number])
    while hungry:
        share = left // len(hungry)
        number = hungry.pop(0)
        shares[number] = max(1, min(wanted[number], share))
        left -= shares[number]
    return shares


def _side_by_side(cells: Sequence[Sequence[Text]], widths: Sequence[int]) -> Iterator[Text]:
    for parts in zip_longest(*cells):
        line = Text()
        at = 0
        for part, width in zip(parts, widths, strict=True):
            if part is not None:
                line.append(" " * (at - cell_len(line.plain)))
                line.append_text(part)
            at += width + _GAP
        yield line


def folded(text: Text, width: int, *, breaks: bool = True) -> list[Text]:
    """Return the text in lines of at most so many cells; `breaks`: a longer word, too."""
    return [
        line for whole in text.split("\n", allow_blank=True) for line in _wrapped(whole, width, breaks=breaks)
    ]


def _wrapped(text: Text, width: int, *, breaks: bool) -> list[Text]:
    lines: list[Text] = []
    line = Text()
    for word in text.split(" ", allow_blank=True):
        while breaks and cell_len(word.plain) > width:
            room = width - cell_len(line.plain) - 1 if line.plain else width
            if room < 1:
                lines.append(line)
                line = Text()
                continue
            size = max(_fitting(word.plain, room), 1)
            lines.append(Text(" ").join([line, word[:size]]) if line.plain else word[:size])
            line, word = Text(), word[size:]  # noqa: PLW2901 - what is left of it
        if line.plain and cell_len(line.plain) + 1 + cell_len(word.plain) > width:
            lines.append(line)
            line = word
        else:
            line = Text(" ").join([line, word]) if line.plain else word
    return [*lines, line]


def cut(text: Text, width: int) -> Text:
    """Return as much of the beginning as fits, with "…" for what is gone."""
    if cell_len(text.plain) <= width:
        return text
    return Text.assemble(text[: _fitting(text.plain, width - 1)], "…")


def cut_in_the_middle(text: Text, width: int) -> Text:
    """Return as much of both ends as fits, with "…" between them."""
    if cell_len(text.plain) <= width:
        return text
    tail = _fitting(text.plain[::-1], (width - 1) // 2)
    head = _fitting(text.plain, width - 1 - (width - 1) // 2)
    return Text.assemble(text[:head], "…", text[len(text.plain) - tail :])


def _fitting(text: str, cells: int) -> int:
    """Return how many characters of the beginning fit into so many cells."""
    taken = 0
    for number, character in enumerate(text):
        taken += cell_len(character)
        if taken > cells:
            return number
    return len(text)


def goes_on(page: Page[Any]) -> str:
    """Return how many of a list are shown, and with which cursor the next page follows."""
    shown = f"{len(page.items)} of {page.total}" if page.total is not None else f"{len(page.items)}, and more"
    return f"{shown}; next: --after {page.next}"
