"""Open dead letters: one open entry per workflow, with its snapshot, in the transaction of the failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from remand.fingerprint import digest, fingerprint, masked
from remand.redact import is_clean, redact_json
from remand_app.config import Settings
from remand_app.domain.dead_letters import DEFAULT_QUEUE, LetterPolicy
from remand_app.domain.snapshot import fit, unread
from remand_app.domain.states import DeadReason
from remand_app.domain.template import Template
from remand_app.engine.attempt_ends import in_halves, told
from remand_app.engine.dead_letter_notifications import Letter, tell
from remand_app.store import dead_letters, dead_queues, json_values
from remand_app.store.database import Connection
from remand_app.store.failures import DecidedDeath
from remand_app.store.groups import Cause, Ensured, Reopened, ensure_groups
from remand_app.store.ids import new_id
from remand_app.store.snapshots import read_snapshots, worker_names
from remand_app.store.templates import Templates
from remand_app.telemetry import log

SYSTEM = "remand"


@dataclass(frozen=True, slots=True)
class Opened:
    """An entry that was opened, and for what."""

    letter_id: UUID
    death: DecidedDeath


def open_letters(
    connection: Connection,
    deaths: Sequence[DecidedDeath],
    *,
    templates: Templates,
    settings: Settings,
    now: datetime,
    jitter: Callable[[], float],
) -> list[Opened]:
    """Open an entry for each dead step; where its workflow has one already, add a note and a fresh snapshot.

    Return the new entries; pass them to `log_opened` after the commit.

    Transaction: joins the one that failed the steps. Idempotent: by (source, source_id).
    Source: C1-C4.
    """
    snapshots = _snapshots(connection, [death.failed.workflow_id for death in deaths], settings)
    workers = worker_names(connection, [death.failed.worker for death in deaths])
    causes = _causes(deaths, templates)
    groups = ensure_groups(connection, causes, now)
    note_reopened(connection, groups.reopened, now)
    of = [templates.get(death.failed.template_id).template for death in deaths]
    wanted = [
        (template.dead_letters.queue, death.failed.queue) for template, death in zip(of, deaths, strict=True)
    ]
    places = dead_queues.places(connection, wanted, DEFAULT_QUEUE)
    earlier = dead_letters.newest_of_steps(
        connection, [(death.failed.workflow_id, death.failed.step) for death in deaths]
    )

    def row(place: int) -> dict[str, Any]:
        death, template = deaths[place], of[place]
        failed = death.failed
        before = earlier.get((failed.workflow_id, failed.step))
        return _row(
            death,
            template=template,
            group_id=groups.ids[causes[place].fingerprint],
            dead_queue=places[place],
            snapshot=snapshots[failed.workflow_id],
            worker="unknown" if failed.worker is None else workers.get(failed.worker, "unknown"),
            now=now,
            planned=_planned(death, before, template, settings, now=now, jitter=jitter),
        )

    stored = _store(connection, deaths, row, snapshots, now)
    opened = [Opened(letter_id, deaths[place]) for place, letter_id in stored]
    letters = [_told(letter_id, deaths[place], causes[place], groups) for place, letter_id in stored]
    tell(connection, settings, letters, groups.reopened, now)
    return opened


def _planned(
    death: DecidedDeath,
    before: dead_letters.Earlier | None,
    template: Template,
    settings: Settings,
    *,
    now: datetime,
    jitter: Callable[[], float],
) -> dict[str, Any]:
    """Return what is to happen with a letter by itself, and which letter it follows."""
    requeues = _requeues(before)
    category = death.failed.failure.classification.category
    # A workflow that a person took out of work goes back only when a person says so.
    is_manual = death.reason == DeadReason.MANUAL_DLQ
    return {
        "triage_at": settings.dlq.triage_at(DeadReason(death.reason), now),
        "follows": None if before is None else before.id,
        "requeues": requeues,
        "requeue_at": None
        if is_manual
        else policy_of(template, settings).requeue_at(category, requeues, now, jitter()),
    }


def _snapshots(connection: Connection, ids: Sequence[UUID], settings: Settings) -> dict[UUID, str]:
    """Return the snapshots of workflows. An unreadable one says so, and holds up no other.

    Each snapshot is made once for all the deaths of a workflow: a wide workflow has many deaths and many
    steps.
    """

    def take(some: Sequence[UUID]) -> dict[UUID, str]:
        with connection.begin_nested():
            read = read_snapshots(connection, some, settings.snapshot_max_bytes)
        return {workflow_id: _storable(text, settings) for workflow_id, text in read.items()}

    def alone(workflow_id: UUID, error: Exception) -> dict[UUID, str]:
        return {workflow_id: json.dumps(unread(str(workflow_id), told(error)))}

    taken = in_halves(list(dict.fromkeys(ids)), take, alone)
    return {workflow_id: text for some in taken for workflow_id, text in some.items()}


def _storable(snapshot: str, settings: Settings) -> str:
    """Mask secrets and leave out what exceeds the limits; most snapshots need neither."""
    keys, most = settings.redact_keys, settings.snapshot_max_bytes
    if len(snapshot.encode()) <= most and is_clean(snapshot, keys):
        return snapshot
    return json.dumps(fit(redact_json(json_values.read(snapshot), keys), most))


def _store(
    connection: Connection,
    deaths: Sequence[DecidedDeath],
    row: Callable[[int], dict[str, Any]],
    snapshots: Mapping[UUID, str],
    now: datetime,
) -> list[tuple[int, UUID]]:
    """Insert rows for deaths whose workflow has no open entry; add notes to existing entries; set-based.

    Return the positions of deaths that got an entry, with its id. A further round is needed only where an
    entry of the same source existed before and its workflow has more deaths.
    """
    known = dead_letters.lock_open_of(connection, {death.failed.workflow_id for death in deaths})
    opened: list[tuple[int, UUID]] = []
    noted: list[int] = []
    waiting = list(range(len(deaths)))
    while waiting:
        first: dict[UUID, int] = {}
        further = []
        for place in waiting:
            workflow_id = deaths[place].failed.workflow_id
            if workflow_id in known:
                noted.append(place)
            elif first.setdefault(workflow_id, place) != place:
                further.append(place)
        rows = {workflow_id: row(place) for workflow_id, place in first.items()}
        stored = dead_letters.insert_letters(connection, list(rows.values()))
        for workflow_id, made in rows.items():
            if made["id"] in stored:
                known[workflow_id] = made["id"]
                opened.append((first[workflow_id], made["id"]))
        waiting = further
    dead_letters.add_notes(
        connection,
        [(known[deaths[place].failed.workflow_id], _failed_too(deaths[place])) for place in noted],
        author=SYSTEM,
        now=now,
    )
    again = {deaths[place].failed.workflow_id for place in noted}
    dead_letters.renew_snapshots(
        connection, {known[workflow_id]: snapshots[workflow_id] for workflow_id in again}
    )
    return sorted(opened)


def _failed_too(death: DecidedDeath) -> str:
    failed = death.failed
    return f"step {failed.step} failed too: {failed.failure.error_class}: {death.explanation}"


def policy_of(template: Template, settings: Settings) -> LetterPolicy:
    """Return how the template handles terminal failures."""
    said = template.dead_letters
    return settings.dlq.policy(said.strategy, said.auto_requeue)


def _told(letter_id: UUID, death: DecidedDeath, cause: Cause, groups: Ensured) -> Letter:
    group_id, is_first = groups.ids[cause.fingerprint], cause.fingerprint in groups.empty
    return Letter(letter_id, death.failed.workflow_id, death.reason, group_id, cause, is_first)


def _requeues(before: dead_letters.Earlier | None) -> int:
    # A person who sends a step back has looked at it: its count of automatic requeues starts again.
    by_itself = before is not None and (before.status, before.closed_by) == ("requeued", SYSTEM)
    return before.requeues + 1 if before is not None and by_itself else 0


def log_opened(opened: Sequence[Opened]) -> None:
    """Say which entries were opened: a person is needed."""
    for letter in opened:
        failed = letter.death.failed
        log(
            "dead_letter.opened",
            dead_letter_id=str(letter.letter_id),
            workflow_id=str(failed.workflow_id),
            step=failed.step,
            attempt=failed.attempt,
            reason=letter.death.reason,
            category=failed.failure.classification.category,
            error=failed.failure.error_class,
        )


def _causes(deaths: Sequence[DecidedDeath], templates: Templates) -> list[Cause]:
    # Workflows taken out of work share one failure: the cause need not be read letter by letter.
    known: dict[tuple[int, int, str], Cause] = {}
    causes = []
    for death in deaths:
        failed = death.failed
        key = (id(failed.failure), failed.template_id, failed.step)
        if key not in known:
            known[key] = _cause(death, templates.get(failed.template_id).template)
        causes.append(known[key])
    return causes


def _cause(death: DecidedDeath, template: Template) -> Cause:
    failed, failure = death.failed, death.failed.failure
    error_class, message = failure.error_class, failure.message
    # One "not paid" from a timeout and one from a refused key are two causes.
    led_to = sorted({cause.partition(": ")[0] for cause in failure.causes})
    cause = digest(
        fingerprint(error_class, message, failure.traceback),
        failed.handler,
        template.namespace,
        *led_to,
    )
    return Cause(
        fingerprint=digest(cause, failed.step, template.ref),
        cause=cause,
        namespace=template.namespace,
        template=template.name,
        version=template.version,
        step=failed.step,
        handler=failed.handler,
        error_class=error_class,
        message=masked(message, error_class),
        category=failure.classification.category,
    )


def note_reopened(connection: Connection, reopened: Sequence[Reopened], now: datetime) -> None:
    """Notify about reopened groups: who had resolved them, and how. Transaction: joins."""
    for group in reopened:
        how = f": {group.resolution}" if group.resolution else ""
        text = (
            f"came back; {group.resolved_by} had resolved it at {group.resolved_at:%Y-%m-%d %H:%M} UTC{how}"
        )
        dead_letters.add_group_note(connection, group.id, author=SYSTEM, text=text, now=now)
        log("group.reopened", group_id=str(group.id), resolved_by=group.resolved_by)


def _row(
    death: DecidedDeath,
    *,
    template: Template,
    group_id: UUID,
    dead_queue: str,
    snapshot: str,
    worker: str,
    now: datetime,
    planned: Mapping[str, Any],
) -> dict[str, Any]:
    failed = death.failed
    verdict = failed.failure.classification
    return {
        "id": new_id(),
        "workflow_id": failed.workflow_id,
        "source": death.source,
        "source_id": death.source_id or f"{failed.workflow_id}:{failed.step}:{failed.attempt}",
        "namespace": template.namespace,
        "template": template.name,
        "version": template.version,
        "step": failed.step,
        "handler": failed.handler,
        "queue": failed.queue,
        "dead_queue": dead_queue,
        "group_id": group_id,
        "attempts": failed.attempt,
        "reason": death.reason,
        "category": verdict.category,
        "policy": failed.policy,
        "rule": verdict.rule,
        "error_class": failed.failure.error_class,
        "error_message": failed.failure.message,
        "worker": worker,
        "status": "pending",
        "opened_at": now,
        **planned,
        "snapshot": snapshot,
        "metadata": {"explanation": death.explanation},
    }
