"""What is submitted and what must come of it: graphs and their steps' parts from a seed, and their ends.

Pure: the same seed makes the same workflows; `ends_of` says how each step ends, whatever happens meanwhile.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

HANDLER = "chaos.step"
QUEUES = ("steps", "side")
RETRY = {
    "exponential": {"base_seconds": 0.2, "cap_seconds": 1},
    "linear": {"step_seconds": 0.2, "cap_seconds": 1},
    # Steps are killed more often here than a poison step elsewhere: only what fails on purpose is to die.
    "lost_attempts": 10_000,
}
_RANDOM_GRAPHS = 12
_LARGE_BYTES = 260_000
"""Two such results do not come along with a claim: they are read one by one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a graph; `after`, `queue`, `commit` as a template has them."""

    name: str
    parents: tuple[str, ...] = ()
    after: str = "success"
    queue: str = QUEUES[0]
    commit: str = "batch"


@dataclass(frozen=True)
class Shape:
    """A template; its steps in an order in which parents come first."""

    name: str
    steps: tuple[Step, ...]

    @property
    def ref(self) -> str:
        return f"chaos/{self.name}"

    @cached_property
    def definition(self) -> str:
        """The template as text."""
        steps = [
            {
                "name": step.name, "handler": HANDLER, "depends_on": list(step.parents), "after": step.after,
                "queue": step.queue, "commit": step.commit,
            }
            for step in self.steps
        ]  # fmt: skip
        whole = {"namespace": "chaos", "name": self.name, "version": "1", "retry": RETRY, "steps": steps}
        return json.dumps(whole)


@dataclass(frozen=True, slots=True)
class Planned:
    """One workflow: its input holds the part of each step that has one."""

    shape: Shape
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class End:
    """How a step must end: `pending` waits for what failed, `cancelled` was skipped."""

    state: str
    result: Any = None


def shapes(rng: random.Random) -> list[Shape]:
    """Return templates of many graphs, some of whose steps have queue, commit or `after` of their own."""
    graphs: dict[str, Mapping[str, Sequence[str]]] = {
        "one": {"a": ()},
        "chain": {"a": (), "b": "a", "c": "b", "d": "c", "e": "d"},
        "diamond": {"a": (), "b": "a", "c": "a", "d": ("b", "c")},
        "fan": {"a": (), **{f"m{n}": "a" for n in range(12)}, "z": [f"m{n}" for n in range(12)]},
        "join": {**{f"m{n}": () for n in range(24)}, "z": [f"m{n}" for n in range(24)]},
    }
    for number in range(_RANDOM_GRAPHS):
        graphs[f"random{number}"] = _random_graph(rng)
    return [Shape(name, tuple(_with_ends(rng, _dressed(rng, graph)))) for name, graph in graphs.items()]


def plan(rng: random.Random, among: Sequence[Shape], count: int) -> list[Planned]:
    """Return workflows of these shapes, each with an input that no other has."""
    return [_planned(rng, rng.choice(among), number) for number in range(count)]


def ends_of(planned: Planned) -> dict[str, End]:
    """Return how every step must end."""
    ends: dict[str, End] = {}
    for step in planned.shape.steps:
        above = [ends[parent] for parent in step.parents]
        is_held = any(end.state in ("error", "pending") for end in above)
        is_skipped = any(end.state == "cancelled" for end in above)
        if (step.after == "failure" and not is_held) or (step.after == "success" and is_skipped):
            ends[step.name] = End("cancelled")
        elif step.after == "success" and is_held:
            ends[step.name] = End("pending")
        elif part_of(planned.input, step.name).get("never"):
            ends[step.name] = End("error")
        else:
            parents = {parent: ends[parent].result for parent in step.parents}
            ends[step.name] = End("complete", result_of(planned.input, step.name, parents))
    return ends


def part_of(given: Mapping[str, Any], step: str) -> dict[str, Any]:
    """Return what the input says of a step."""
    part: dict[str, Any] = given["parts"].get(step, {})
    return part


def result_of(given: Mapping[str, Any], step: str, parents: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a step must return: a hash of all that came before it, and ballast if it is a large one."""
    said = json.dumps([step, given, dict(parents)], sort_keys=True).encode()
    ballast = {"ballast": "x" * _LARGE_BYTES} if part_of(given, step).get("large") else {}
    return {"hash": hashlib.sha256(said).hexdigest(), **ballast}


def _random_graph(rng: random.Random) -> dict[str, list[str]]:
    names = [f"r{number}" for number in range(rng.randint(3, 12))]
    return {
        name: rng.sample(names[:number], rng.randint(0, min(number, 3))) for number, name in enumerate(names)
    }


def _dressed(rng: random.Random, graph: Mapping[str, Sequence[str]]) -> Iterator[Step]:
    for name, parents in graph.items():
        queue = QUEUES[rng.random() < 0.15]
        commit = "each" if rng.random() < 0.1 else "batch"
        yield Step(name, tuple(parents), queue=queue, commit=commit)


def _with_ends(rng: random.Random, steps: Iterator[Step]) -> Iterator[Step]:
    """Add steps that follow an end of others; nothing but one step each follows these.

    With several parents, of which one is skipped and one fails, it would matter which comes first.
    """
    plain = list(steps)
    yield from plain
    for after in ("failure", "always"):
        if rng.random() < 0.5:
            named = [step.name for step in rng.sample(plain, rng.randint(1, min(3, len(plain))))]
            yield Step(f"on-{after}", tuple(named), after=after)
            if rng.random() < 0.5:
                yield Step(f"behind-{after}", (f"on-{after}",))


def _planned(rng: random.Random, shape: Shape, number: int) -> Planned:
    parts: dict[str, Any] = {}
    for step in shape.steps:
        dice = rng.random()
        if dice < 0.01:
            parts[step.name] = {"never": rng.choice(["given up", "tried in vain"])}
        elif dice < 0.06:
            parts[step.name] = {"fails": rng.randint(1, 2)}
        elif dice < 0.08:
            parts[step.name] = {"seconds": round(rng.uniform(0.05, 1.5), 2)}
        elif dice < 0.09:
            parts[step.name] = {"seconds": round(rng.uniform(0.2, 1.5), 2), "checkpoints": 3}
        elif dice < 0.092:
            parts[step.name] = {"large": True}
    return Planned(shape, {"number": number, "parts": parts})
