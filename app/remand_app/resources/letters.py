"""Dead letters, as every door shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import DeadLetterNotFound
from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.masking import masked
from remand_app.engine.suggest import Suggestion, suggestions_for
from remand_app.resources import verbs
from remand_app.resources.values import fields_of
from remand_app.store.database import Database
from remand_app.store.dead_letter_json import list_lines, triage_lines
from remand_app.store.dead_letter_search import count, list_page, triage_page
from remand_app.store.dead_letters import (
    DeadLetter,
    LetterRow,
    Note,
    find_dead_letter,
    get_dead_letter,
    notes_of,
)
from remand_app.store.ids import find_id
from remand_app.store.steps import Attempt, attempts_of

__all__ = [
    "DeadLetter", "LetterFilter", "LetterRow", "Note", "count", "find_dead_letter", "get_dead_letter",
    "list_lines", "list_page", "notes_of", "triage_lines", "triage_page",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class LetterShown(DeadLetter):
    """A dead letter with what is needed to find out why."""

    notes: list[Note]
    suggestions: Sequence[Suggestion]
    """What coincides with the failures of its group, each with the facts it comes from."""
    attempts_made: list[Attempt]
    verbs: list[str]
    """What can be done with it now."""


@dataclass(frozen=True, slots=True)
class LetterDecision(Decided):
    """What a verb did to a dead letter, and how that stands now."""

    id: UUID = field(kw_only=True)
    claimed_by: str | None = field(kw_only=True)
    labels: list[str] = field(kw_only=True)
    links: list[str] = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class NoteMade:
    """A note that was added."""

    id: UUID
    """Of what it was added to."""
    author: str
    text: str


def show(engine: Engine, letter: DeadLetter) -> LetterShown:
    """Return a letter with its notes, attempts and what may be behind it. Transaction: some short ones."""
    secret = engine.settings.redact_keys
    attempts = attempts_of(engine.database, letter.workflow_id, letter.step)
    return LetterShown(
        **fields_of(letter),
        notes=notes_of(engine.database, letter.id),
        suggestions=suggestions_for(engine, letter),
        attempts_made=[masked(attempt, secret) for attempt in attempts],
        verbs=[verb.name for verb in verbs.possible("letter", letter)],
    )


def decided(database: Database, letter_id: UUID, made: Decided) -> LetterDecision:
    """Return what a verb did to a letter. Transaction: own."""
    now = get_dead_letter(database, letter_id)
    return LetterDecision(
        **fields_of(made), id=letter_id, claimed_by=now.claimed_by, labels=now.labels, links=now.links
    )


def open_letter_of(database: Database, workflow_id: UUID) -> LetterRow | None:
    """Return the open letter of a workflow, None if it has none. Transaction: own."""
    letters = list_page(database, LetterFilter(workflow_id=workflow_id), limit=1).items
    return letters[0] if letters else None


def find_letter_id(database: Database, typed: str) -> UUID:
    """Return the id of a letter from enough of either end of it. Transaction: own.

    Raises:
        DeadLetterNotFound, AmbiguousId: it fits nothing, or several.
    """
    return find_id(database, "dead_letters", typed, DeadLetterNotFound)
