"""The filter of groups of dead letters: one value for the lists of all interfaces, and for the store."""

from __future__ import annotations

from dataclasses import dataclass

from remand_app.domain.errors import InputInvalid
from remand_app.domain.filters import asked
from remand_app.domain.states import GroupState

OPEN = (GroupState.OPEN, GroupState.INVESTIGATING)
ORDERS = ("recent", "largest")


@dataclass(frozen=True, slots=True)
class GroupFilter:
    """Which groups are wanted, and in what order; None: any."""

    states: tuple[GroupState, ...] = asked(
        "Default: open and investigating.", default=OPEN, name="state", match="one of", column="state"
    )
    """Empty: whatever state."""
    namespace: str | None = asked("Of the template.", typed="Only of this namespace.", label="Namespace")
    template: str | None = asked(
        "Name of the template.", typed="Only of this template's name.", label="Template"
    )
    owner: str | None = asked("Who looks at them.", typed="Only those of this person.")
    order: str = asked(
        "The newest letter first, or the most open ones.",
        typed="`recent` or `largest`.",
        default="recent",
        choices=ORDERS,
        match="none",
    )

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise InputInvalid(f"groups have no order {self.order!r}", hint=f"known are {', '.join(ORDERS)}")
