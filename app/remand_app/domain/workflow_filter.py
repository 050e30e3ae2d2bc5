"""The filter of workflows: one value for the lists of all interfaces, and for the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from remand_app.domain.errors import InputInvalid
from remand_app.domain.filters import asked
from remand_app.domain.states import WorkflowState


@dataclass(frozen=True, slots=True)
class WorkflowFilter:
    """What is asked for; everything that is given must hold."""

    states: tuple[WorkflowState, ...] = asked(
        "Only in these states.", typed="Only in this state.", default=(), name="state", label="State"
    )
    template: str | None = asked(
        "name, namespace/name, namespace/name:version.",
        typed="Only of this template: name or namespace/name.",
        label="Template",
        placeholder="namespace/name",
    )
    namespace: str | None = asked("Only of templates of this namespace.")
    tag: str | None = asked("Only with this tag.")
    id_prefix: str | None = asked("The beginning of their id.", name="id", pattern="^[0-9a-f-]{1,36}$")
    submitted_after: datetime | None = asked(
        "At this instant or later.",
        typed="Submitted since: 15m, 2h, 7d or an instant.",
        option="--since",
    )
    submitted_before: datetime | None = asked("Before this instant.")
    input: tuple[tuple[str, str], ...] = ()
    """(path, text): the input's value at that path, its names joined by dots, written as text.

    Read by `input_conditions`.
    """

    @property
    def has_index(self) -> bool:
        """True where what is asked for can be found without reading past other rows."""
        plain = not (self.states or self.template or self.namespace or self.input)
        return self.asks_for_live or self.tag is not None or plain

    @property
    def asks_for_live(self) -> bool:
        """True where only workflows that are not finished fit."""
        return bool(self.states) and not any(state.is_final for state in self.states)


def input_conditions(parameters: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return what `input.PATH=TEXT` among parameters asks of inputs, for `WorkflowFilter.input`.

    Raises:
        InputInvalid: a path or a text contains NUL.
    """
    conditions = [
        (name.removeprefix("input."), text)
        for name, text in parameters
        if name.startswith("input.") and name != "input."
    ]
    for path, text in conditions:
        if "\0" in path + text:
            raise InputInvalid(f"{f'input.{path}'!r} contains NUL, which no input does")
    return tuple(conditions)
