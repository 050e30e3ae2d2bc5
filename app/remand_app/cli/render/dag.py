"""Draw a graph of steps with box characters: left to right where that fits, else top down.

One routine routes the edges in abstract directions, *along* the layers and *across* them. The two
orientations differ only in which direction is a column. Edges that follow from other edges are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rich.text import Text

from remand_app.domain.dag import Parents, children_of, layers, with_waypoints, without_implied

MOST_STEPS = 40
"""Beyond that a drawing helps nobody."""

_BACK, _AHEAD, _LESS, _MORE = 1, 2, 4, 8
"""Arms of a cell: along the layers to either side, across them to either side."""

_CHARACTERS = {
    "left": "─", "right": "─", "up": "│", "down": "│", "left right": "─", "up down": "│", "right down": "┌",
    "left down": "┐", "right up": "└", "left up": "┘", "right up down": "├", "left up down": "┤",
    "left right down": "┬", "left right up": "┴", "left right up down": "┼",
}  # fmt: skip
_SIDEWAYS = {_BACK: "left", _AHEAD: "right", _LESS: "up", _MORE: "down"}
_DOWNWARDS = {_BACK: "up", _AHEAD: "down", _LESS: "left", _MORE: "right"}
_PASSES = 4


@dataclass(frozen=True, slots=True)
class Node:
    """A step as it is drawn: one line of text in one style."""

    label: str
    style: str = ""


def draw(nodes: Mapping[str, Node], parents: Parents, width: int) -> Text | None:
    """Return the drawing, at most `width` columns wide; None when it does not fit or has too many steps."""
    if len(nodes) > MOST_STEPS:
        return None
    graph = with_waypoints(without_implied(parents))
    rows = layers(graph)
    for canvas in (_sideways(nodes, graph, rows), _downwards(nodes, graph, rows)):
        if canvas.width <= width:
            return canvas.text()
    return None


def _places(
    graph: Parents, rows: Sequence[Sequence[str]], half: Callable[[str], int], gap: int
) -> dict[str, int]:
    """Return where across its layer each node stands: near its neighbours, never over another."""
    children = children_of(graph)
    place: dict[str, int] = {}
    for number in range(_PASSES):
        downwards = number % 2 == 0
        for row in rows if downwards else list(reversed(rows)):
            near = graph if downwards else children
            wished = [
                _middle(
                    [place[neighbour] for neighbour in near[name] if neighbour in place], place.get(name, 0)
                )
                for name in row
            ]
            place.update(zip(row, _spread(wished, [half(name) for name in row], gap), strict=True))
    least = min(place[name] - half(name) for name in place)
    return {name: at - least for name, at in place.items()}


def _middle(values: Sequence[int], otherwise: int) -> int:
    return round((min(values) + max(values)) / 2) if values else otherwise


def _spread(wished: Sequence[int], halves: Sequence[int], gap: int) -> list[int]:
    placed: list[int] = []
    for index, wish in enumerate(wished):
        free = placed[-1] + halves[index - 1] + halves[index] + gap if placed else wish
        placed.append(max(wish, free))
    shift = round(sum(wish - at for wish, at in zip(wished, placed, strict=True)) / len(placed))
    return [at + shift for at in placed]


class _Canvas:
    """Cells of a drawing; `arms` says which way each direction of a cell goes."""

    def __init__(self, arms: Mapping[int, str], *, is_sideways: bool) -> None:
        self._arms = arms
        self._is_sideways = is_sideways
        self._lines: dict[tuple[int, int], int] = {}
        self._signs: dict[tuple[int, int], tuple[str, str]] = {}

    @property
    def width(self) -> int:
        return 1 + max(column for column, _ in (*self._lines, *self._signs))

    def write(self, column: int, row: int, node: Node) -> None:
        for offset, sign in enumerate(node.label):
            self._signs[column + offset, row] = (sign, node.style)

    def run_along(self, start: int, end: int, across: int) -> None:
        """Join two cells of one track."""
        for along in range(start, end):
            self._add(along, across, _AHEAD)
            self._add(along + 1, across, _BACK)

    def run_across(self, along: int, start: int, end: int) -> None:
        """Join two tracks at one place."""
        for across in range(start, end):
            self._add(along, across, _MORE)
            self._add(along, across + 1, _LESS)

    def arrow(self, along: int, across: int) -> None:
        self._signs[self._cell(along, across)] = ("▶" if self._is_sideways else "▼", "dim")

    def text(self) -> Text:
        last = max(row for _, row in (*self._lines, *self._signs))
        return Text("\n").join(self._line(row) for row in range(last + 1))

    def _line(self, row: int) -> Text:
        line = Text()
        for column in range(self.width):
            sign, style = self._signs.get((column, row), (self._character(column, row), "dim"))
            line.append(sign, style=style)
        line.rstrip()
        return line

    def _character(self, column: int, row: int) -> str:
        arms = self._lines.get((column, row), 0)
        named = {self._arms[arm] for arm in (_BACK, _AHEAD, _LESS, _MORE) if arms & arm}
        return _CHARACTERS.get(
            " ".join(side for side in ("left", "right", "up", "down") if side in named), " "
        )

    def _add(self, along: int, across: int, arm: int) -> None:
        cell = self._cell(along, across)
        self._lines[cell] = self._lines.get(cell, 0) | arm

    def _cell(self, along: int, across: int) -> tuple[int, int]:
        return (along, across) if self._is_sideways else (across, along)


def _sideways(nodes: Mapping[str, Node], graph: Parents, rows: Sequence[Sequence[str]]) -> _Canvas:
    canvas = _Canvas(_SIDEWAYS, is_sideways=True)
    place = _places(graph, rows, lambda _: 0, gap=1)
    bands = _bands(graph, rows, place)
    start = 0
    for number, row in enumerate(rows):
        lanes = start + max((len(nodes[name].label) for name in row if name in nodes), default=0) + 2
        goes_on = (
            {name for group, _ in bands[number] for name in group.parents} if number < len(bands) else ()
        )
        for name in row:
            begin = start
            if name in nodes:
                canvas.write(start, place[name], nodes[name])
                begin += len(nodes[name].label) + 1
            if name in goes_on:
                canvas.run_along(begin, lanes, place[name])
        if number < len(bands):
            start = _route(canvas, bands[number], place, nodes, lanes) + 2
    return canvas


def _downwards(nodes: Mapping[str, Node], graph: Parents, rows: Sequence[Sequence[str]]) -> _Canvas:
    canvas = _Canvas(_DOWNWARDS, is_sideways=False)

    def half(name: str) -> int:
        return (len(nodes[name].label) + 1) // 2 if name in nodes else 0

    place = _places(graph, rows, half, gap=2)
    bands = _bands(graph, rows, place)
    start = 0
    for number, row in enumerate(rows):
        for name in row:
            if name in nodes:
                canvas.write(place[name] - len(nodes[name].label) // 2, start, nodes[name])
        if number < len(bands):
            for group, _ in bands[number]:
                for name in group.parents:
                    canvas.run_along(start, start + 1, place[name])
            start = _route(canvas, bands[number], place, nodes, start + 1) + 1
    return canvas


@dataclass(frozen=True, slots=True)
class _Group:
    """Parents with the same children: they share one line across."""

    parents: tuple[str, ...]
    children: tuple[str, ...]

    def tracks(self, place: Mapping[str, int]) -> list[int]:
        return [place[name] for name in (*self.parents, *self.children)]


def _bands(
    graph: Parents, rows: Sequence[Sequence[str]], place: Mapping[str, int]
) -> list[list[tuple[_Group, int]]]:
    """Return for each gap between layers its groups of edges, each with the lane it turns in."""
    bands = []
    for row, below in pairwise(rows):
        children = {name: tuple(child for child in below if name in graph[child]) for name in row}
        together: dict[tuple[str, ...], list[str]] = {}
        for name, ends in children.items():
            if ends:
                together.setdefault(ends, []).append(name)
        bands.append(_lanes([_Group(tuple(names), ends) for ends, names in together.items()], place))
    return bands


def _lanes(groups: Sequence[_Group], place: Mapping[str, int]) -> list[tuple[_Group, int]]:
    taken: list[int] = []
    laned = []
    for group in sorted(groups, key=lambda group: min(group.tracks(place))):
        tracks = group.tracks(place)
        lane = next((lane for lane, end in enumerate(taken) if end < min(tracks)), len(taken))
        taken[lane : lane + 1] = [max(tracks)]
        laned.append((group, lane))
    return laned


def _route(
    canvas: _Canvas,
    band: Sequence[tuple[_Group, int]],
    place: Mapping[str, int],
    nodes: Mapping[str, Node],
    start: int,
) -> int:
    """Draw the edges of one gap from `start` on; return where the next layer's arrows stand."""
    last = start + max(lane for _, lane in band) + 1
    for group, lane in band:
        tracks = group.tracks(place)
        canvas.run_across(start + lane, min(tracks), max(tracks))
        for name in group.parents:
            canvas.run_along(start, start + lane, place[name])
        for name in group.children:
            canvas.run_along(start + lane, last, place[name])
            if name in nodes:
                canvas.arrow(last, place[name])
            else:
                canvas.run_along(last, last + 1, place[name])
    return last
