"""Groups of dead letters with one cause, as every door shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from remand_app.domain.errors import GroupNotFound
from remand_app.domain.group_filter import GroupFilter
from remand_app.engine.engine import Engine
from remand_app.engine.operate import groups as engine_groups
from remand_app.engine.suggest import Suggestion, suggestions
from remand_app.resources import verbs
from remand_app.resources.values import fields_of
from remand_app.store.database import Database
from remand_app.store.dead_letters import Note
from remand_app.store.group_counts import fold, trends
from remand_app.store.group_json import list_lines
from remand_app.store.group_search import list_page
from remand_app.store.groups import Group, find_group, get_group, notes_of_group
from remand_app.store.ids import find_id

__all__ = [
    "Group", "GroupFilter", "find_group", "fold", "get_group", "list_lines", "list_page", "suggestions",
    "trends",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class GroupLine(Group):
    """A group as lists show it; counts as last folded, within a few seconds."""

    trend: list[int]
    """Letters opened in each of the last 24 hours, oldest first."""


@dataclass(frozen=True, slots=True)
class GroupShown(GroupLine):
    """A group with what is needed to decide."""

    hit_share: float | None
    """Share of the template's workflows that came into it; null: it had none. Of the last 24 hours, and of
    these the newest 10 000 of all templates."""
    statuses: dict[str, int]
    """Its newest 10 000 letters by status."""
    earlier: list[Group]
    """Groups with the same cause: other versions of the template, other steps."""
    notes: list[Note]
    suggestions: Sequence[Suggestion]
    """What coincides with its failures, the most telling first, each with the facts it comes from."""
    verbs: list[str]
    """What can be done with it now."""


def show(engine: Engine, group_id: UUID) -> GroupShown:
    """Return a group counted to this moment. Transaction: some short ones.

    Raises:
        GroupNotFound: no group has that id.
    """
    counted = engine_groups.standing(engine, group_id)
    return GroupShown(
        **fields_of(counted.group),
        trend=counted.trend,
        hit_share=counted.hit_share,
        statuses=counted.statuses,
        earlier=counted.earlier,
        notes=notes_of_group(engine.database, group_id),
        suggestions=suggestions(engine, group_id),
        verbs=[verb.name for verb in verbs.possible("group", counted.group)],
    )


def find_group_id(database: Database, typed: str) -> UUID:
    """Return the id of a group, given enough of its beginning or end. Transaction: own.

    Raises:
        GroupNotFound, AmbiguousId: it fits nothing, or several.
    """
    return find_id(database, "dead_letter_groups", typed, GroupNotFound)
