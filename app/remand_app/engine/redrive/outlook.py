"""Forecast a planned set: what blocks its letters today, and how similar letters ended before.

A forecast changes nothing and promises nothing. It counts what is known now, and gives examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from remand_app.domain.errors import BadInput, TemplateNotFound
from remand_app.domain.redrive import Redrive
from remand_app.domain.template import validate_input
from remand_app.engine.engine import Engine
from remand_app.store import redrive_forecast as facts
from remand_app.store import redrives
from remand_app.store.database import Connection
from remand_app.store.redrive_forecast import Kind, Sampled

SAMPLE = 1000
"""Letters whose input is looked at; of a larger set, every n-th."""
GROUPS = 20
NEWEST = 500
"""Requeued letters of a group from which its success share is taken."""
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Example:
    """A letter and its problem."""

    letter_id: UUID
    why: str


@dataclass(frozen=True, slots=True)
class ForecastCheck:
    """One question asked of every letter, or of a sample."""

    name: str
    question: str
    asked: int
    """Letters that were checked."""
    against: int
    """Checked letters with an answer that speaks against sending them now."""
    examples: tuple[Example, ...] = ()

    @property
    def is_fine(self) -> bool:
        """True when no answer speaks against sending."""
        return self.against == 0


@dataclass(frozen=True, slots=True)
class GroupShare:
    """Letters of a set with one cause, and how requeued letters of that cause ended so far."""

    group_id: UUID
    letters: int
    error: str
    step: str
    succeeded: int
    failed: int

    @property
    def share(self) -> float | None:
        """Share that succeeded; None: none has ended."""
        ended = self.succeeded + self.failed
        return self.succeeded / ended if ended else None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What to expect of a redrive."""

    letters: int
    sampled: int
    """Letters whose input and workflow were looked at; less than `letters`: a sample."""
    checks: tuple[ForecastCheck, ...]
    groups: tuple[GroupShare, ...]
    """The largest groups of the set."""
    more_groups: int

    @property
    def expected_share(self) -> float | None:
        """Share expected to succeed, by how requeues of each group ended; None: none was requeued."""
        known = [(group.letters, group.share) for group in self.groups if group.share is not None]
        letters = sum(count for count, _ in known)
        return sum(count * share for count, share in known) / letters if letters else None

    def to_dict(self) -> dict[str, Any]:
        """Return it as CLI and API show it."""
        return {
            "letters": self.letters,
            "sampled": self.sampled,
            "expected_share": self.expected_share,
            "checks": [{**asdict(check), "is_fine": check.is_fine} for check in self.checks],
            "groups": [{**asdict(group), "share": group.share} for group in self.groups],
            "more_groups": self.more_groups,
        }


def forecast(engine: Engine, redrive_id: UUID) -> Forecast:
    """Look at a redrive's waiting letters as they are now. Transaction: own.

    Raises:
        RedriveNotFound: none has that id.
    """
    redrive = redrives.get_redrive(engine.database, redrive_id)
    with engine.database.begin() as connection:
        kinds = facts.kinds(connection, redrive_id, redrive.started_by or redrive.planned_by)
        letters = sum(kind.letters for kind in kinds)
        every = max(1, -(-letters // SAMPLE))
        seen = facts.sample(connection, redrive_id, every)
        groups = _largest(kinds)
        ended = facts.requeues_ended(connection, list(groups)[:GROUPS], NEWEST)
        checks = (
            _closed(kinds, letters),
            _claimed(redrive, kinds, letters),
            _elsewhere(connection, redrive_id, letters),
            *_of_templates(connection, kinds, letters),
            _queues(engine, connection, redrive, kinds, letters),
        )
    shares = []
    for group_id, (count, kind) in list(groups.items())[:GROUPS]:
        known = ended.get(group_id)
        error = f"{kind.error_class}: {kind.message}"
        good, bad = (known.succeeded, known.failed) if known else (0, 0)
        shares.append(GroupShare(group_id, count, error, kind.step, good, bad))
    return Forecast(
        letters,
        len(seen),
        (*checks, *_of_workflows(engine, seen)),
        tuple(shares),
        max(0, len(groups) - GROUPS),
    )


def _largest(kinds: Iterable[Kind]) -> dict[UUID, tuple[int, Kind]]:
    counts: dict[UUID, tuple[int, Kind]] = {}
    for kind in kinds:
        count, first = counts.get(kind.group_id, (0, kind))
        counts[kind.group_id] = (count + kind.letters, first)
    return dict(sorted(counts.items(), key=lambda entry: -entry[1][0]))


def _closed(kinds: Sequence[Kind], letters: int) -> ForecastCheck:
    examples = [Example(kind.closed_example, "closed by now") for kind in kinds if kind.closed_example]
    against = sum(kind.closed for kind in kinds)
    return _check("open", "is it still open?", letters, against, examples)


def _claimed(redrive: Redrive, kinds: Sequence[Kind], letters: int) -> ForecastCheck:
    why = "claimed by somebody else: " + (
        "sent all the same" if redrive.include_claimed else "will be skipped"
    )
    examples = [Example(kind.claimed_example, why) for kind in kinds if kind.claimed_example]
    against = sum(kind.claimed for kind in kinds)
    return _check("unclaimed", "is nobody else at it?", letters, against, examples)


def _elsewhere(connection: Connection, redrive_id: UUID, letters: int) -> ForecastCheck:
    others = facts.elsewhere(connection, redrive_id)
    examples = [
        Example(other.example, f"redrive {other.redrive_id}, started by {other.by}, has it ({other.state})")
        for other in others
    ]
    return _check(
        "redrive", "is it in no other redrive?", letters, sum(other.letters for other in others), examples
    )


def _of_templates(connection: Connection, kinds: Sequence[Kind], letters: int) -> tuple[ForecastCheck, ...]:
    newest = facts.newest_versions(connection)
    gated = facts.gated_steps(connection)
    paused = facts.paused_templates(connection)
    older = [
        (kind, f"runs version {kind.version}, the newest is {newest[kind.namespace, kind.template]}")
        for kind in kinds
        if newest.get((kind.namespace, kind.template), kind.version) != kind.version
    ]
    held = [
        (kind, f"the breaker of {name} holds step {kind.step}")
        for kind in kinds
        if (name := gated.get((kind.namespace, kind.template, kind.version, kind.step)))
    ]
    at_rest = [
        (kind, f"template {kind.namespace}/{kind.template} is paused")
        for kind in kinds
        if (kind.namespace, kind.template) in paused
    ]
    return (
        _by_kind("version", "is its template's version the newest?", letters, older),
        _by_kind("breaker", "is the breaker of its step closed?", letters, held),
        _by_kind("template", "does its template run?", letters, at_rest),
    )


def _queues(
    engine: Engine, connection: Connection, redrive: Redrive, kinds: Sequence[Kind], letters: int
) -> ForecastCheck:
    queue_of = {id(kind): redrive.queue or kind.queue for kind in kinds}
    since = engine.now(connection) - timedelta(seconds=engine.settings.worker_silent_after_seconds)
    at_rest = facts.queues_at_rest(connection, sorted(set(queue_of.values())), since)
    unheard = [(kind, at_rest[queue_of[id(kind)]]) for kind in kinds if queue_of[id(kind)] in at_rest]
    return _by_kind("queue", "does a live worker take from its queue?", letters, unheard)


def _of_workflows(engine: Engine, seen: Sequence[Sampled]) -> tuple[ForecastCheck, ...]:
    gone = [Example(letter.letter_id, "its workflow is no longer there") for letter in seen if letter.gone]
    held = [Example(letter.letter_id, "its workflow is paused") for letter in seen if letter.paused]
    taken = [
        Example(letter.letter_id, "another workflow has its identity")
        for letter in seen
        if letter.identity_taken
    ]
    invalid = [
        Example(letter.letter_id, why)
        for letter in seen
        if not letter.gone and (why := _invalid(engine, letter))
    ]
    asked = len(seen)
    return (
        _check("workflow", "is its workflow there?", asked, len(gone), gone),
        _check("paused", "is its workflow not paused?", asked, len(held), held),
        _check("identity", "is its identity free?", asked, len(taken), taken),
        _check("input", "does its input fit the newest schema?", asked, len(invalid), invalid),
    )


def _invalid(engine: Engine, letter: Sampled) -> str | None:
    try:
        template = engine.templates.find(letter.ref).template
        validate_input(template, letter.input, engine.settings.input_max_bytes)
    except TemplateNotFound:
        return f"template {letter.ref} is no longer there"
    except BadInput as problem:
        return problem.message
    return None


def _by_kind(name: str, question: str, letters: int, against: Sequence[tuple[Kind, str]]) -> ForecastCheck:
    examples = [Example(kind.example, why) for kind, why in against]
    return _check(name, question, letters, sum(kind.letters for kind, _ in against), examples)


def _check(name: str, question: str, asked: int, against: int, examples: Sequence[Example]) -> ForecastCheck:
    return ForecastCheck(name, question, asked, against, tuple(examples[:_EXAMPLES]))
