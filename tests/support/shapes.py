"""Templates by their graph, and handlers that fail as often as they are told to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

HANDLER = "h"
CHAIN: Mapping[str, Iterable[str]] = {"a": (), "b": "a", "c": "b", "d": "c"}
DIAMOND: Mapping[str, Iterable[str]] = {"a": (), "b": "a", "c": "a", "d": "bc"}


def shape(
    name: str,
    graph: Mapping[str, Iterable[str]],
    *,
    each: Mapping[str, Mapping[str, Any]] | None = None,
    **top: Any,
) -> str:
    """Return the YAML of template "t/<name>"; `graph`: step → parents; `each`: step → more keys of it."""
    steps = [
        {"name": step, "handler": HANDLER, "depends_on": list(parents), **(each or {}).get(step, {})}
        for step, parents in graph.items()
    ]
    return json.dumps({"namespace": "t", "name": name, "version": "1", **top, "steps": steps})


def fails(*errors: BaseException, then: Any = "well") -> Callable[[Any], Any]:
    """Return a handler that raises each error once, in order, and goes well after the last."""

    def run(ctx: Any) -> Any:
        if ctx.attempt <= len(errors):
            raise errors[ctx.attempt - 1]
        return then

    return run


def always(error: BaseException) -> Callable[[Any], Any]:
    """Return a handler that always raises this."""

    def run(ctx: Any) -> Any:
        raise error

    return run
