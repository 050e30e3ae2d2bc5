"""What the search field finds in addition to workflows: the page of anything with the id or name typed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from remand_app.domain.access import Permission
from remand_app.domain.errors import NotFound
from remand_app.engine import dead_queues, overview
from remand_app.engine.engine import Engine
from remand_app.resources import lookup
from remand_app.web.identity import Caller

_SHORTEST: Final = 4
_LONGEST: Final = 200
_BY_ID: Final = {
    "dead_letters": ("dead letter", "/dlq/letters/{}", Permission.LETTERS_READ),
    "dead_letter_groups": ("group", "/dlq/groups/{}", Permission.LETTERS_READ),
    "redrives": ("redrive", "/redrives/{}", Permission.LETTERS_READ),
    "workers": ("worker", "/workers", Permission.QUEUES_READ),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A page that what was typed may mean."""

    noun: str
    name: str
    address: str


def places(engine: Engine, caller: Caller, typed: str) -> list[Place]:
    """Return the pages, as far as the caller may see them. Bounded: a few queries by index."""
    if not _SHORTEST <= len(typed) <= _LONGEST or "\0" in typed:
        return []
    return [*_by_id(engine, caller, typed), *_by_name(engine, caller, typed)]


def _by_id(engine: Engine, caller: Caller, typed: str) -> Iterator[Place]:
    tables = [table for table, (_, _, needed) in _BY_ID.items() if caller.may(needed)]
    for table, found_id in lookup.ids_like(engine.database, typed, tables):
        noun, address, _ = _BY_ID[table]
        yield Place(noun, str(found_id), address.format(found_id))


def _by_name(engine: Engine, caller: Caller, typed: str) -> Iterator[Place]:
    if caller.may(Permission.LETTERS_READ):
        group = lookup.group_of(engine.database, typed)
        if group is not None:
            yield Place("group", typed, f"/dlq/groups/{group}")
        if typed in {dead_queue.name for dead_queue in dead_queues.list_dead_queues(engine)}:
            yield Place("dead queue", typed, "/dead-queues")
    if caller.may(Permission.QUEUES_READ):
        if lookup.is_worker(engine.database, typed):
            yield Place("worker", typed, "/workers")
        if typed in {queue.queue for queue in overview.queues(engine)}:
            yield Place("queue", typed, "/queues")
    if caller.may(Permission.BREAKERS_READ) and typed in {
        breaker.name for breaker in overview.breakers(engine, unmoved=False)
    }:
        yield Place("breaker", typed, "/breakers")
    if caller.may(Permission.TEMPLATES_READ) and ":" in typed:
        yield from _template(engine, typed)


def _template(engine: Engine, typed: str) -> Iterator[Place]:
    try:
        template = engine.templates.find(typed).template
    except NotFound:
        return
    path = "/".join(quote(part, safe="") for part in (template.namespace, template.name, template.version))
    yield Place("template", template.ref, f"/templates/{path}")
