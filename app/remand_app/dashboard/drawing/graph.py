"""Lay out a graph of steps for SVG: layers from left to right, edges as curves. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from remand_app.domain.dag import Parents, layers, with_waypoints, without_implied

MOST_NODES = 150
"""A larger graph is summed up by layers: a drawing of thousands helps nobody and takes seconds."""
_WIDTH, _HEIGHT, _LANE, _GAP_X, _GAP_Y, _EDGE = 152, 44, 8, 44, 16, 12
_LETTERS = 21


@dataclass(frozen=True, slots=True)
class Node:
    """A step and where it is drawn, in pixels."""

    name: str
    label: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph that was laid out."""

    nodes: list[Node]
    edges: list[str]
    """Paths, as SVG writes them."""
    width: int
    height: int
    node_width: int = _WIDTH
    node_height: int = _HEIGHT


def lay_out(parents: Mapping[str, Sequence[str]]) -> Drawing | None:
    """Return the layout; None if there are more steps than `MOST_NODES`.

    Edges that follow from others are left out, those that skip layers keep a lane of their own there.
    """
    if len(parents) > MOST_NODES:
        return None
    graph = with_waypoints(without_implied(parents))
    rows = layers(graph)
    heights = [_height(row, parents) for row in rows]
    place: dict[str, Node] = {}
    for column, row in enumerate(rows):
        x, y = _EDGE + column * (_WIDTH + _GAP_X), _EDGE + (max(heights) - heights[column]) // 2
        for name in row:
            place[name] = Node(name, name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…", x, y)
            y += (_HEIGHT if name in parents else _LANE) + _GAP_Y
    edges = [path for name in parents for path in _edges(name, graph, parents, place)]
    return Drawing(
        [place[name] for name in parents],
        edges,
        max(1, len(rows) * (_WIDTH + _GAP_X) - _GAP_X + 2 * _EDGE),
        max(heights, default=0) + 2 * _EDGE,
    )


def _height(row: Sequence[str], parents: Mapping[str, Sequence[str]]) -> int:
    return sum((_HEIGHT if name in parents else _LANE) + _GAP_Y for name in row) - _GAP_Y


def _edges(
    name: str, graph: Parents, parents: Mapping[str, Sequence[str]], place: Mapping[str, Node]
) -> list[str]:
    """Return the paths into a step, from each parent through its waypoints."""
    paths = []
    for last in graph[name]:
        way = [name, last]
        while way[-1] not in parents:
            way += graph[way[-1]]
        way.reverse()
        middle = {stop: place[stop].y + (_HEIGHT if stop in parents else _LANE) // 2 for stop in way}
        path = f"M{place[way[0]].x + _WIDTH} {middle[way[0]]}"
        for before, after in pairwise(way):
            x1, x2 = place[before].x + _WIDTH, place[after].x
            turn = (x1 + x2) // 2
            path += f"C{turn} {middle[before]} {turn} {middle[after]} {x2} {middle[after]}"
            if after not in parents:
                path += f"H{x2 + _WIDTH}"
        paths.append(path)
    return paths
