"""The bodies of PATCH routes, made from the table of verbs: `action` names the verb."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Union
from uuid import UUID

from fastapi import Body as InBody
from pydantic import Field, create_model

from remand_app.api.dependencies import Body, DryRun, Line, Prose, Reason
from remand_app.domain.instants import Instant
from remand_app.engine import operate
from remand_app.engine.engine import Engine
from remand_app.resources.verb import MAX_SECONDS
from remand_app.resources.verbs import Argument, Noun, Verb, verb_of, verbs_of
from remand_app.web.identity import Caller, allow

_MOST_WORDS = 100
_KINDS: dict[str, Any] = {
    "text": Line,
    "prose": Prose,
    "texts": list[Line],
    "flag": bool,
    "json": Any,
    "object": dict[Line, Any],
    "priority": Annotated[int, Field(ge=0, le=9)],
    "count": int,
    "instant": Instant | None,
    "duration": Annotated[float, Field(gt=0, le=MAX_SECONDS)],
}
NOUN_OF: dict[str, Noun] = {}
"""Body → the noun of whose verbs it was made."""


class Action(Body):
    """What is to be done, and why."""

    action: str
    reason: Reason = None

    def given(self) -> dict[str, Any]:
        """Return the arguments that came along."""
        return {name: getattr(self, name) for name in self.model_fields_set}


def bodies(noun: Noun) -> Any:
    """Return the type of a body: what can be done to a noun, told apart by `action`."""
    return told_apart([body_of(verb) for verb in verbs_of(noun, "api") if not verb.own_route])


def told_apart(made: Sequence[type[Action]]) -> Any:
    """Return the type of a body that is one of several, told apart by `action`."""
    return Annotated[Union[tuple(made)], InBody(discriminator="action")]  # noqa: UP007 - made at run time


def one_body(name: str, noun: Noun, about: str) -> type[Action]:
    """Return one body for all verbs of a noun that take nothing but a reason."""
    actions = tuple(verb.name for verb in verbs_of(noun, "api") if not verb.own_route and not verb.arguments)
    NOUN_OF[name] = noun
    fields: dict[str, Any] = {"action": (Literal[actions], ...)}
    return create_model(name, __base__=Action, __doc__=about, **fields)


def body_of(verb: Verb) -> type[Action]:
    """Return the body that one verb takes."""
    fields: dict[str, Any] = {"action": (Literal[verb.name], ...)}
    fields |= {argument.name: _field(argument) for argument in verb.arguments}
    if verb.previews:
        fields["dry_run"] = (DryRun, False)
    if verb.needs_reason:
        fields["reason"] = (Prose, Field(min_length=1, description="How: it is recorded, and shown later."))
    name = "".join(part.title() for part in (*verb.name.split("_"), verb.noun))
    NOUN_OF[name] = verb.noun
    return create_model(name, __base__=Action, __doc__=verb.about, **fields)


def _field(argument: Argument) -> Any:
    kind = _KINDS[argument.kind]
    more: dict[str, Any] = {"description": argument.about}
    if argument.example:
        more["examples"] = [argument.example]
    if argument.required:
        if argument.kind in {"text", "prose"}:
            more["min_length"] = 1
        return (kind, Field(**more))
    if argument.kind == "flag":
        return (kind, Field(False, **more))
    if argument.kind == "texts":
        return (kind, Field(default_factory=list, max_length=_MOST_WORDS, **more))
    return (kind | None if argument.kind != "json" else kind, Field(None, **more))


def carry_out(
    engine: Engine,
    noun: Noun,
    key: tuple[Any, ...],
    body: Action,
    caller: Caller,
    workflow_id: UUID | None = None,
) -> Any:
    """Do what a body says; with `dry_run`, say what it would do to a workflow.

    Raises:
        NotAllowed: the caller may not do that one.
        RemandError: as the verb itself.
    """
    verb = verb_of(noun, body.action)
    allow(caller, verb.permission)
    who, arguments = caller.who(body.reason), body.given()
    if workflow_id is not None and arguments.get("dry_run"):
        return operate.preview(engine, workflow_id, lambda tried: verb.act(tried, key, who, arguments))
    return verb.act(engine, key, who, arguments)
