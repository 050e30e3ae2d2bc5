"""The verbs as Celery tasks: any Celery client may call them by name, with JSON, and gets JSON back.

An error of the product comes back as `{"error": {"code", "message", "hint", "details"}}`, so that a client
needs none of our classes. `remand_workers/callers.py` decides who may call what. Source: A14.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import Any
from uuid import UUID

from celery import current_task
from celery.worker.request import Request
from pydantic import BaseModel, ConfigDict, ValidationError, validate_call

from remand.errors import RemandError
from remand_app.domain.errors import InputInvalid
from remand_app.domain.text import check_arguments
from remand_app.engine import operate
from remand_app.engine import submit as submitting
from remand_app.engine.masking import masked
from remand_app.engine.operate import Decided
from remand_app.engine.submit import SubmitRequest as Submission
from remand_app.resources.letters import find_dead_letter
from remand_app.resources.steps import steps_of
from remand_app.resources.workflows import find_workflow
from remand_workers import process
from remand_workers.callers import UNNAMED, admitted, who
from remand_workers.celery import app

JSON = dict[str, Any]
_DOCUMENTS = ("input", "result", "requests")
"""Arguments that are JSON, with limits of their own."""


class Discreet(Request):
    """A request that does not repeat what users gave: events, Flower and `celery inspect` see its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._argsrepr, self._kwargsrepr = "()", "{}"

    def info(self, safe: bool = False) -> JSON:  # noqa: ARG002 - Celery's signature
        """Return what `celery inspect` shows, never the arguments themselves."""
        shown: JSON = super().info(safe=True)
        return shown


class Wanted(BaseModel):
    """One workflow of a `remand.submit_many`."""

    model_config = ConfigDict(extra="forbid")

    input: Any = None
    key: str | None = None
    priority: int | None = None
    id: UUID | None = None
    tags: tuple[str, ...] = ()


def _command(name: str) -> Callable[[Callable[..., Any]], Any]:
    def register(verb: Callable[..., Any]) -> Any:
        checked, signature = validate_call(verb), inspect.signature(verb)

        @wraps(verb)
        def answer(*args: Any, **kwargs: Any) -> JSON:
            try:
                with admitted(name, current_task.request, kwargs.get("by")):
                    _check_texts(signature, args, kwargs)
                    return {"ok": checked(*args, **kwargs)}
            except ValidationError as error:
                return {"error": _misused(name, error).to_dict()}
            except RemandError as error:
                return {"error": error.to_dict()}

        # The answer is repeated by no event, either: it holds results.
        return app.task(
            name=name, ignore_result=False, Request="remand_workers.commands:Discreet", resultrepr_maxsize=1
        )(answer)

    return register


def _check_texts(signature: inspect.Signature, args: tuple[Any, ...], kwargs: JSON) -> None:
    try:
        arguments = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return  # Arguments that the verb does not have: its own check says which.
    check_arguments(arguments, documents=_DOCUMENTS)


def _misused(name: str, error: ValidationError) -> InputInvalid:
    """Say what is wrong with the arguments of a command, without their values."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    problems = [
        {"path": ".".join(str(part) for part in detail["loc"]), "message": detail["msg"]} for detail in errors
    ]
    listed = "; ".join(f"{problem['path']}: {problem['message']}" for problem in problems)
    return InputInvalid(f"{name} was called wrongly: {listed}", details={"problems": problems})


@_command("remand.submit")
def submit(
    template: str,
    input: Any = None,  # noqa: A002 - the word that everybody uses for it
    *,
    key: str | None = None,
    priority: int | None = None,
    id: UUID | None = None,  # noqa: A002 - as above
    tags: tuple[str, ...] = (),
    by: str = UNNAMED,
) -> JSON:
    """Submit one workflow; give `id` (a UUIDv7) to make a repeated call the same one."""
    request = Submission(input, key, priority, id, tags)
    answer = submitting.submit(process.engine(), template, request, by=who(by).by)
    return {"workflow_id": str(answer.workflow_id), "created": answer.created}


@_command("remand.submit_many")
def submit_many(template: str, requests: list[Wanted], by: str = UNNAMED) -> list[JSON]:
    """Submit many workflows of one template: each with `input`, maybe `key`, `priority`, `id`, `tags`."""
    wanted = [
        Submission(request.input, request.key, request.priority, request.id, request.tags)
        for request in requests
    ]
    answers = submitting.submit_many(process.engine(), template, wanted, by=who(by).by)
    return [{"workflow_id": str(answer.workflow_id), "created": answer.created} for answer in answers]


@_command("remand.get")
def get(workflow_id: str, steps: bool = False) -> JSON:
    """Return a workflow's state, and its steps with their results if asked; what the API masks is masked."""
    database, secret = process.runtime().database, process.runtime().settings.redact_keys
    workflow = masked(find_workflow(database, workflow_id), secret)
    answer: JSON = {
        "workflow_id": str(workflow.id),
        "template": workflow.ref,
        "state": str(workflow.state),
        "is_final": workflow.state.is_final,
        "needs_person": workflow.state.needs_person,
        "input": workflow.input,
        "held_by": workflow.held_by,
        "paused": workflow.paused_at is not None,
        "paused_by": workflow.paused_by,
        "tags": workflow.tags or [],
    }
    if steps:
        answer["steps"] = {
            step.name: {"state": str(step.state), "attempt": step.attempt, "result": step.result}
            for step in steps_of(database, workflow.id, secret)
        }
    return answer


@_command("remand.cancel")
def cancel(workflow_id: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """Cancel a workflow."""
    return _decided(operate.cancel(process.engine(), _workflow(workflow_id), who(by, reason)))


@_command("remand.pause")
def pause(workflow_id: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """Hold a workflow: it starts no further step."""
    return _decided(operate.pause_workflow(process.engine(), _workflow(workflow_id), who(by, reason)))


@_command("remand.resume")
def resume(workflow_id: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """Let a paused workflow go on."""
    return _decided(operate.resume_workflow(process.engine(), _workflow(workflow_id), who(by, reason)))


@_command("remand.pause_template")
def pause_template(template: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """Hold all workflows of a template, those that are still to be submitted, too."""
    return asdict(operate.pause_template(process.engine(), template, who(by, reason)))


@_command("remand.resume_template")
def resume_template(template: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """Let the workflows of a paused template go on."""
    return asdict(operate.resume_template(process.engine(), template, who(by, reason)))


@_command("remand.retry")
def retry(
    workflow_id: str,
    step: str,
    *,
    input: Any = None,  # noqa: A002 - the word that everybody uses for it
    has_input: bool = False,
    queue: str | None = None,
    priority: int | None = None,
    reason: str | None = None,
    by: str = UNNAMED,
) -> JSON:
    """Run a failed step again; a waiting one at once. `has_input`: null is meant as one, too."""
    decider = who(by, reason)
    decided = operate.retry_step(
        process.engine(),
        _workflow(workflow_id),
        step,
        decider,
        new_input=operate.KEEP if input is None and not has_input else input,
        queue=queue,
        priority=priority,
    )
    return _decided(decided)


@_command("remand.resolve")
def resolve(workflow_id: str, step: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """Declare a step done by hand, without a result."""
    return _decided(operate.resolve_step(process.engine(), _workflow(workflow_id), step, who(by, reason)))


@_command("remand.complete")
def complete(
    workflow_id: str, step: str, *, result: Any, reason: str | None = None, by: str = UNNAMED
) -> JSON:
    """Complete a step by hand with a result."""
    decider = who(by, reason)
    return _decided(
        operate.complete_step(process.engine(), _workflow(workflow_id), step, decider, result=result)
    )


@_command("remand.skip")
def skip(workflow_id: str, step: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """End a step and what is behind it alone, without results."""
    return _decided(operate.skip_step(process.engine(), _workflow(workflow_id), step, who(by, reason)))


@_command("remand.restart")
def restart(workflow_id: str, step: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """Run a step and everything behind it anew."""
    return _decided(operate.restart_from(process.engine(), _workflow(workflow_id), step, who(by, reason)))


@_command("remand.requeue")
def requeue(letter: str, reason: str | None = None, by: str = UNNAMED) -> JSON:
    """Send the failed steps of a dead letter's workflow back to work; a workflow's id will do."""
    dead_letter = find_dead_letter(process.runtime().database, letter)
    return _decided(operate.requeue_letter(process.engine(), dead_letter.id, who(by, reason)))


def _workflow(workflow_id: str) -> UUID:
    return find_workflow(process.runtime().database, workflow_id).id


def _decided(decided: Decided) -> JSON:
    return {"workflow_id": str(decided.workflow_id), "state": decided.after, "changed": decided.changed}
