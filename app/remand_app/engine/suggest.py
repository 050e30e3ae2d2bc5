"""Suggest what may be behind a group of dead letters, with the facts of each suggestion.

Suggestions are no verdicts: they name coincidences. All reads are bounded, whatever the group's size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from remand.redact import MASK, redact_json
from remand_app.domain.errors import TemplateNotFound
from remand_app.engine.engine import Engine
from remand_app.store import group_evidence, groups, redrive_forecast
from remand_app.store.dead_letters import DeadLetter
from remand_app.store.groups import Group

_DEPLOY_BEFORE = timedelta(minutes=60)
_BREAKER_BEFORE = timedelta(minutes=30)
_ENOUGH = 3
"""Letters from which on "all of them" says something."""
_REQUEUED = 500
_FIELDS = 3


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What coincides with the failures."""

    kind: str
    """deploy, host, input, breaker, resolved_before or requeued_before."""
    text: str
    facts: dict[str, Any] = field(default_factory=dict)


def suggestions(engine: Engine, group_id: UUID) -> list[Suggestion]:
    """Return what may be behind a group, the most telling first. Transaction: some short ones.

    Raises:
        GroupNotFound: no group has that id.
    """
    group = groups.get_group(engine.database, group_id)
    return [
        *_resolved_before(engine, group),
        *_requeued_before(engine, group),
        *_deploys(engine, group),
        *_breakers(engine, group),
        *_one_host(engine, group),
        *_common_input(engine, group),
    ]


def suggestions_for(engine: Engine, letter: DeadLetter) -> list[Suggestion]:
    """Return what may be behind a letter: what may be behind its group."""
    return suggestions(engine, letter.group_id)


def _resolved_before(engine: Engine, group: Group) -> Iterator[Suggestion]:
    for other in (group, *groups.earlier(engine.database, group)):
        if other.resolved_at is None:
            continue
        which = "this group" if other.id == group.id else f"{other.ref}, step {other.step}"
        yield Suggestion(
            "resolved_before",
            f"The same cause ({which}) was resolved on {other.resolved_at:%Y-%m-%d %H:%M} UTC"
            f" by {other.resolved_by}: {other.resolution or 'it is not said how'}",
            {"group_id": str(other.id), "resolved_by": other.resolved_by, "letters": other.letters},
        )


def _requeued_before(engine: Engine, group: Group) -> Iterator[Suggestion]:
    with engine.database.begin() as connection:
        ended = redrive_forecast.requeues_ended(connection, [group.id], _REQUEUED).get(group.id)
    if ended is None or not ended.succeeded + ended.failed:
        return
    total = ended.succeeded + ended.failed
    share = ended.succeeded / total
    experience = "sending them back has helped" if share >= 0.5 else "sending them back has not helped"
    yield Suggestion(
        "requeued_before",
        f"{total} letters of this group were sent back before, {ended.succeeded} went well"
        f" ({share:.0%}): {experience}",
        {"requeued": total, "succeeded": ended.succeeded},
    )


def _deploys(engine: Engine, group: Group) -> Iterator[Suggestion]:
    for deploy in group_evidence.deploys(engine.database, group.first_at - _DEPLOY_BEFORE, group.first_at):
        minutes = (group.first_at - deploy.since).total_seconds() / 60
        yield Suggestion(
            "deploy",
            f"Workers with version {deploy.version} came up {minutes:.0f} min before the first letter",
            {"version": deploy.version, "since": deploy.since.isoformat()},
        )


def _breakers(engine: Engine, group: Group) -> Iterator[Suggestion]:
    earliest = group.first_at - _BREAKER_BEFORE
    for opening in group_evidence.openings(
        engine.database, group.handler, group.step, earliest, group.last_at
    ):
        yield Suggestion(
            "breaker",
            f"The breaker of {opening.name} opened at {opening.at:%Y-%m-%d %H:%M} UTC:"
            f" {opening.reason or 'no reason given'}",
            {"breaker": opening.name, "at": opening.at.isoformat()},
        )


def _one_host(engine: Engine, group: Group) -> Iterator[Suggestion]:
    hosts = group_evidence.hosts(engine.database, group.id)
    letters = sum(hosts.values())
    if len(hosts) != 1 or letters < _ENOUGH:
        return
    [host] = hosts
    if not host:  # of a letter that no worker saw
        return
    queue = _queue_of(engine, group)
    others = group_evidence.other_hosts(engine.database, queue, host) if queue else []
    if others:
        yield Suggestion(
            "host",
            f"All of the last {letters} letters come from {host};"
            f" {', '.join(others[:3])} take from that queue, too",
            {"host": host, "others": others, "letters": letters},
        )


def _queue_of(engine: Engine, group: Group) -> str | None:
    try:
        step = engine.templates.find(group.ref).template.step(group.step)
    except TemplateNotFound:
        return None
    return None if step is None else step.queue


def _common_input(engine: Engine, group: Group) -> Iterator[Suggestion]:
    failed = group_evidence.inputs_of_letters(engine.database, group.id)
    common = _shared(failed)
    if len(failed) < _ENOUGH or not common:
        return
    well = group_evidence.inputs_that_went_well(engine.database, group.namespace, group.template)
    shown = redact_json(common, engine.settings.redact_keys)
    shown_fields = 0
    for name, value in common.items():
        alike = sum(isinstance(input_, dict) and _same(input_.get(name), value) for input_ in well)
        if not well or alike * 2 > len(well) or shown_fields == _FIELDS:
            continue
        shown_fields += 1
        yield Suggestion(
            "input",
            f"All of the last {len(failed)} letters have {name} = {shown[name]!r} in their input;"
            f" of {len(well)} that went well, {alike} have",
            {"field": name, "value": shown[name], "letters": len(failed), "well": len(well), "alike": alike},
        )


def _shared(inputs: Sequence[Any]) -> dict[str, Any]:
    """Return the plain fields that have the same value in all inputs."""
    if not inputs or not all(isinstance(input_, dict) for input_ in inputs):
        return {}
    first = inputs[0]
    return {
        name: value
        for name, value in first.items()
        if isinstance(value, str | int | float | bool)
        # Masked values look the same whatever they hide.
        and not (isinstance(value, str) and MASK in value)
        and all(_same(input_.get(name), value) for input_ in inputs)
    }


def _same(left: Any, right: Any) -> bool:
    # In JSON, unlike in Python, 1 and true are two values.
    return left == right and isinstance(left, bool) == isinstance(right, bool)
