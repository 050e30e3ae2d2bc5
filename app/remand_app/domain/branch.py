"""Own which other steps a decision on one step affects: those behind it alone, or all those behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from remand_app.domain.dag import descendants, topological_order


def skipped_with(parents: Mapping[str, Sequence[str]], step: str) -> list[str]:
    """Return a step and every step that has parents in its branch only, parents first.

    A join that also has parents in another branch is not skipped: it waits for that branch alone and runs.
    """
    skipped = {step}
    for name in topological_order(parents):
        if name != step and parents[name] and all(parent in skipped for parent in parents[name]):
            skipped.add(name)
    return [name for name in topological_order(parents) if name in skipped]


def restarted_with(parents: Mapping[str, Sequence[str]], step: str) -> list[str]:
    """Return a step and everything behind it, parents first: what depends on its result runs again."""
    again = {step, *descendants(parents, step)}
    return [name for name in topological_order(parents) if name in again]
