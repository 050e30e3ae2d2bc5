"""Fold steps of a layer with like names into one box, so that a wide graph stays readable. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from remand_app.domain.dag import levels

LEAST = 8
"""The number of steps with like names in a layer from which they become one box."""
_DIGITS = re.compile(r"\d+")
_WORST = ("error", "waiting_for_retry", "enqueued_as_error_for_orchestration", "in_progress", "enqueued")


@dataclass(frozen=True, slots=True)
class Folded:
    """Steps that are drawn as one."""

    label: str
    told: str
    """How many stand in which state."""
    worst: str
    """The state that most needs a look."""


def fold(
    parents: Mapping[str, Sequence[str]], states: Mapping[str, str]
) -> tuple[dict[str, list[str]], dict[str, Folded]]:
    """Return the graph of what is drawn, and what its folded boxes stand for, by their name in it.

    Steps of one layer only are folded: no cycle can come of it.
    """
    depth = levels(parents)
    alike: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name in parents:
        alike[depth[name], _DIGITS.sub("#", name)].append(name)
    many = {members[0]: members for members in alike.values() if len(members) >= LEAST}
    box = {name: first for first, members in many.items() for name in members}
    drawn: dict[str, dict[str, None]] = {}
    for name, before in parents.items():
        into = drawn.setdefault(box.get(name, name), {})
        into.update((box.get(parent, parent), None) for parent in before)
    return {name: list(before) for name, before in drawn.items()}, {
        first: _folded(members, states) for first, members in many.items()
    }


def _folded(members: Sequence[str], states: Mapping[str, str]) -> Folded:
    counts = Counter(states[name] for name in members)
    worst = next((state for state in _WORST if state in counts), counts.most_common(1)[0][0])
    summary = ", ".join(
        f"{count} {state.replace('_', ' ')}"
        for state, count in sorted(counts.items(), key=lambda counted: (counted[0] != worst, -counted[1]))
    )
    stem = _DIGITS.split(members[0])[0].rstrip("-_.") or members[0]
    return Folded(f"{stem} × {len(members)}", summary, worst)
