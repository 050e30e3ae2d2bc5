"""Own the properties of a graph of names and their parents: order, depth, cycles, descendants, rows.

Knows nothing of templates or steps. All is iterative and linear in nodes plus edges: a chain of 5 000 and a
fan-out of 10 000 are ordinary. A graph is a mapping name → parents; where several orders are possible, that
of the mapping is kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

Parents = Mapping[str, Sequence[str]]


def topological_order(parents: Parents) -> list[str]:
    """Return all names, each after its parents, otherwise in the order given.

    Raises `ValueError` on a cycle or a parent that is not in the graph.
    """
    children = children_of(parents)
    waits_for = {name: len(set(above)) for name, above in parents.items()}
    ready = deque(name for name, count in waits_for.items() if count == 0)
    order: list[str] = []
    while ready:
        name = ready.popleft()
        order.append(name)
        for child in children[name]:
            waits_for[child] -= 1
            if waits_for[child] == 0:
                ready.append(child)
    if len(order) < len(parents):
        raise ValueError(f"the graph has a cycle: {cycle_text(find_cycles(parents)[0])}")
    return order


def levels(parents: Parents) -> dict[str, int]:
    """Return the depth of every name: 0 for roots, else one more than its deepest parent (longest path)."""
    depth: dict[str, int] = {}
    for name in topological_order(parents):
        depth[name] = 1 + max((depth[parent] for parent in parents[name]), default=-1)
    return depth


def layers(parents: Parents) -> list[list[str]]:
    """Return the names as rows to draw, top first; in a row each stands near the middle of its parents."""
    rows: list[list[str]] = []
    for name, depth in levels(parents).items():
        if depth == len(rows):
            rows.append([])
        rows[depth].append(name)
    place: dict[str, float] = {}
    for row in rows:
        row.sort(key=lambda name: _middle([place[parent] for parent in parents[name]]))
        place.update({name: (index + 0.5) / len(row) for index, name in enumerate(row)})
    return rows


def children_of(parents: Parents) -> dict[str, list[str]]:
    """Turn the graph over: name → children, each once. Raises `ValueError` on a parent not in the graph."""
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, above in parents.items():
        for parent in dict.fromkeys(above):
            if parent not in children:
                raise ValueError(f"{name!r} depends on {parent!r}, which is not in the graph")
            children[parent].append(name)
    return children


def descendants(parents: Parents, *names: str) -> set[str]:
    """Return everything that waits, directly or not, for one of `names`; they themselves are not included."""
    children = children_of(parents)
    below: set[str] = set()
    todo = [child for name in names for child in children[name]]
    while todo:
        name = todo.pop()
        if name not in below:
            below.add(name)
            todo.extend(children[name])
    return below - set(names)


def without_implied(parents: Parents) -> dict[str, list[str]]:
    """Leave out every parent that is an ancestor of another parent: the longer way says it already."""
    below = {name: descendants(parents, name) for name in parents}
    return {
        name: [
            parent for parent in dict.fromkeys(above) if not any(other in below[parent] for other in above)
        ]
        for name, above in parents.items()
    }


def with_waypoints(parents: Parents) -> dict[str, list[str]]:
    """Insert waypoints, with new names, into edges that skip layers: each edge then joins adjacent layers."""
    depth = levels(parents)
    graph: dict[str, list[str]] = {name: [] for name in parents}
    for name, above in parents.items():
        for parent in above:
            last = parent
            for level in range(depth[parent] + 1, depth[name]):
                waypoint = f"{parent}\0{level}"
                graph.setdefault(waypoint, [last])
                last = waypoint
            graph[name].append(last)
    return graph


def find_cycles(parents: Parents, limit: int = 20) -> list[list[str]]:
    """Return cycles that share no name, at most `limit`; each as names of which every one waits for the next.

    At least one is found in each group of connected cycles. Parents that are not in the graph are ignored.
    """
    finished: set[str] = set()
    cycles = (
        cycle for root in parents if root not in finished for cycle in _cycles_from(root, parents, finished)
    )
    return list(islice(cycles, limit))


def cycle_text(cycle: Sequence[str]) -> str:
    """Write a cycle as `a → b → a`; a long one keeps its ends."""
    shown = [*cycle[:6], f"… {len(cycle) - 8} more …", *cycle[-2:]] if len(cycle) > 10 else list(cycle)
    return " → ".join([*shown, cycle[0]])


def _cycles_from(root: str, parents: Parents, finished: set[str]) -> Iterator[list[str]]:
    """Walk up from `root` depth first; an edge into the open path closes a cycle."""
    path = [root]
    place = {root: 0}
    pending = [iter(parents[root])]
    # For every place on the path: the nearest place at or above it whose name is in a cycle already given.
    nearest = [-1]
    while path:
        above = next(pending[-1], None)
        if above is None:
            pending.pop()
            nearest.pop()
            name = path.pop()
            del place[name]
            finished.add(name)
        elif above in place:
            start = place[above]
            if nearest[-1] < start:
                nearest[start:] = range(start, len(path))
                yield path[start:]
        elif above in parents and above not in finished:
            place[above] = len(path)
            path.append(above)
            nearest.append(nearest[-1])
            pending.append(iter(parents[above]))


def _middle(places: Sequence[float]) -> float:
    return sum(places) / len(places) if places else 0.0
