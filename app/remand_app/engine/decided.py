"""The result of a person's verb, for every interface that shows it. Imports none of the verbs."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Decided:
    """What a verb did: state before and after, and the entry it closed."""

    workflow_id: UUID
    before: str
    after: str
    changed: bool = True
    closed_letter: UUID | None = None
