"""Verbs on the investigation itself: its owner, labels, links and metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from remand.redact import redact_json
from remand_app.domain.errors import IllegalMove, InputInvalid
from remand_app.domain.labels import check_labels, check_links
from remand_app.domain.states import DeadLetterStatus
from remand_app.domain.text import check_text
from remand_app.engine.decided import Decided
from remand_app.engine.engine import Engine
from remand_app.engine.operate.context import Operation, Who, json_text, locked, patient, refuse_closed
from remand_app.store import dead_letters
from remand_app.store.dead_letters import DeadLetter
from remand_app.telemetry import log

_OWN_KEYS = frozenset({"explanation", "redrive"})


@patient
def release_letter(engine: Engine, letter_id: UUID, who: Who, *, force: bool = False) -> Decided:
    """Let go of an investigation, so that somebody else may take it. Idempotent: of one nobody has.

    Raises:
        IllegalMove: it is closed, or somebody else has it and `force` is not given.
    """

    def change(letter: DeadLetter, _: datetime) -> dict[str, Any]:
        if letter.claimed_by not in (None, who.by) and not force:
            raise _taken(letter, "release")
        return {"status": DeadLetterStatus.PENDING, "claimed_by": None, "claimed_at": None}

    return _change(engine, letter_id, who, "release", change)


@patient
def assign_letter(
    engine: Engine, letter_id: UUID, assignee: str, who: Who, *, force: bool = False
) -> Decided:
    """Give an investigation to somebody. Idempotent: to the one who has it.

    Raises:
        InputInvalid: the name is empty or cannot be stored.
        IllegalMove: it is closed, or neither free nor one's own and `force` is not given.
    """
    name = assignee.strip()
    if not name or len(name) > 200:
        raise InputInvalid("whom to assign to is a name of 1 to 200 characters")
    check_text(name, "name")

    def change(letter: DeadLetter, now: datetime) -> dict[str, Any]:
        if letter.claimed_by == name:
            return {}
        if letter.claimed_by not in (None, who.by) and not force:
            raise _taken(letter, "assign")
        return {"status": DeadLetterStatus.INVESTIGATING, "claimed_by": name, "claimed_at": now}

    return _change(engine, letter_id, who, "assign", change)


@patient
def label_letter(
    engine: Engine, letter_id: UUID, who: Who, *, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> Decided:
    """Put labels on a letter and take others off; a closed one takes labels, too. Idempotent.

    Raises:
        InputInvalid: a label has other characters, or there would be too many.
    """
    wanted, unwanted = check_labels(add), set(remove)

    def change(letter: DeadLetter, _: datetime) -> dict[str, Any]:
        kept = [label for label in letter.labels if label not in unwanted]
        return {"labels": check_labels([*kept, *wanted])}

    return _change(engine, letter_id, who, "label", change, also_closed=True)


@patient
def link_letter(
    engine: Engine, letter_id: UUID, who: Who, *, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> Decided:
    """Link a letter to tickets, deploys, pages, or take links away; a closed one takes them, too. Idempotent.

    Raises:
        InputInvalid: a link is no http or https URL, or there would be too many.
    """
    wanted, unwanted = check_links(add), set(remove)

    def change(letter: DeadLetter, _: datetime) -> dict[str, Any]:
        kept = [link for link in letter.links if link not in unwanted]
        return {"links": check_links([*kept, *wanted])}

    return _change(engine, letter_id, who, "link", change, also_closed=True)


@patient
def merge_letter_metadata(engine: Engine, letter_id: UUID, values: Mapping[str, Any], who: Who) -> Decided:
    """Merge values into the metadata of a letter, what looks like a secret masked. Idempotent.

    A value of None takes the key away. What is there under other keys stays.

    Raises:
        InputInvalid: the values, or all of them together, cannot be stored, or a key is the product's own.
    """
    taken = sorted(_OWN_KEYS & values.keys())
    if taken:
        raise InputInvalid(
            f"metadata {', '.join(taken)} is written by the product itself", hint="use another key"
        )
    most = engine.settings.input_max_bytes
    json_text(dict(values), "metadata", most)
    masked: dict[str, Any] = redact_json(dict(values), engine.settings.redact_keys)

    def change(letter: DeadLetter, _: datetime) -> dict[str, Any]:
        merged = {key: value for key, value in {**letter.metadata, **masked}.items() if value is not None}
        json_text(merged, "metadata", most)
        return {"metadata": merged}

    return _change(engine, letter_id, who, "metadata", change, also_closed=True)


_Change = Callable[[DeadLetter, datetime], dict[str, Any]]


def _change(
    engine: Engine, letter_id: UUID, who: Who, verb: str, change: _Change, *, also_closed: bool = False
) -> Decided:
    """Change columns of a letter and write down what they were; nothing is written if nothing changes."""
    with engine.database.begin() as connection:
        letter, workflow = locked(connection, letter_id)
        if not also_closed:
            refuse_closed(letter, verb)
        now = engine.now(connection)
        values = change(letter, now)
        changed = {name: value for name, value in values.items() if getattr(letter, name) != value}
        if changed:
            dead_letters.change_letter(connection, letter.id, **changed)
            recorded = [name for name in changed if name != "claimed_at"]
            Operation(connection, workflow, who, now).record(
                f"dead_letter.{verb}",
                kind="dead_letter",
                subject=letter.id,
                before={name: getattr(letter, name) for name in recorded},
                after={name: changed[name] for name in recorded},
            )
    after = changed.get("status", letter.status)
    if changed:
        log("dead_letter.changed", dead_letter_id=str(letter.id), verb=verb, by=who.by)
    return Decided(workflow.id, letter.status, after, changed=bool(changed))


def _taken(letter: DeadLetter, verb: str) -> IllegalMove:
    return IllegalMove(
        f"cannot {verb} dead letter {letter.id}: it is claimed by {letter.claimed_by}"
        f" since {letter.claimed_at:%Y-%m-%d %H:%M} UTC",
        hint="ask them, or take it over by force",
        details={"status": str(letter.status), "claimed_by": letter.claimed_by},
    )
