"""The verbs as Celery tasks: any Celery client may call them by name, with JSON, and gets JSON back.

An error of the product comes back as `{"error": {"code", "message", "hint", "details"}}`, so that a client
needs none of our classes. Source: A14.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from celery.worker.request import Request
from pydantic import BaseModel, ConfigDict, ValidationError, validate_call

from app.domain.errors import InputInvalid
from app.engine import operate
from app.engine import submit as submitting
from app.engine.operate import Who
from app.engine.submit import Request as Submission
from app.store.steps import steps_of
from app.store.workflows import find_workflow
from remand.errors import RemandError
from workers import process
from workers.celery import app

JSON = dict[str, Any]


class Discreet(Request):
    """A request that does not repeat what users gave: events, Flower and `celery inspect` see its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._argsrepr, self._kwargsrepr = "()", "{}"

    def info(self, safe: bool = False) -> JSON:  # noqa: ARG002 - Celery's signature
        """Return what `celery inspect` shows, never the arguments themselves."""
        told: JSON = super().info(safe=True)
        return told


class Wanted(BaseModel):
    """One workflow of a `remand.submit_many`."""

    model_config = ConfigDict(extra="forbid")

    input: Any = None
    key: str | None = None
    priority: int | None = None
    id: UUID | None = None


def _command(name: str) -> Callable[[Callable[..., Any]], Any]:
    def register(verb: Callable[..., Any]) -> Any:
        checked = validate_call(verb)

        @wraps(verb)
        def answer(*args: Any, **kwargs: Any) -> JSON:
            try:
                return {"ok": checked(*args, **kwargs)}
            except ValidationError as error:
                return {"error": _misused(name, error).to_dict()}
            except RemandError as error:
                return {"error": error.to_dict()}

        # The answer is repeated by no event, either: it holds results.
        return app.task(
            name=name, ignore_result=False, Request="workers.commands:Discreet", resultrepr_maxsize=1
        )(answer)

    return register


def _misused(name: str, error: ValidationError) -> InputInvalid:
    """Say what is wrong with the arguments of a command, without their values."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    problems = [{"path": ".".join(str(part) for part in one["loc"]), "message": one["msg"]} for one in found]
    told = "; ".join(f"{one['path']}: {one['message']}" for one in problems)
    return InputInvalid(f"{name} was called wrongly: {told}", details={"problems": problems})


@_command("remand.submit")
def submit(
    template: str,
    input: Any = None,  # noqa: A002 - the word that everybody uses for it
    *,
    key: str | None = None,
    priority: int | None = None,
    id: UUID | None = None,  # noqa: A002 - as above
    by: str = "celery",
) -> JSON:
    """Submit one workflow; give `id` (a UUIDv7) to make a repeated call the same one."""
    request = Submission(input, key, priority, id)
    answer = submitting.submit(process.engine(), template, request, by=by)
    return {"workflow_id": str(answer.workflow_id), "created": answer.created}


@_command("remand.submit_many")
def submit_many(template: str, requests: list[Wanted], by: str = "celery") -> list[JSON]:
    """Submit many workflows of one template; a request has `input` and may have `key`, `priority`, `id`."""
    wanted = [Submission(one.input, one.key, one.priority, one.id) for one in requests]
    answers = submitting.submit_many(process.engine(), template, wanted, by=by)
    return [{"workflow_id": str(answer.workflow_id), "created": answer.created} for answer in answers]


@_command("remand.get")
def get(workflow_id: str, steps: bool = False) -> JSON:
    """Return a workflow's state, and its steps with their results if asked."""
    database = process.runtime().database
    workflow = find_workflow(database, workflow_id)
    answer: JSON = {
        "workflow_id": str(workflow.id),
        "template": workflow.ref,
        "state": str(workflow.state),
        "is_final": workflow.state.is_final,
        "needs_person": workflow.state.needs_person,
        "input": workflow.input,
    }
    if steps:
        answer["steps"] = {
            step.name: {"state": str(step.state), "attempt": step.attempt, "result": step.result}
            for step in steps_of(database, workflow.id)
        }
    return answer


@_command("remand.cancel")
def cancel(workflow_id: str, reason: str | None = None, by: str = "celery") -> JSON:
    """Cancel a workflow."""
    found = find_workflow(process.runtime().database, workflow_id)
    decided = operate.cancel(process.engine(), found.id, Who(by, reason))
    return {"workflow_id": str(decided.workflow_id), "state": decided.after, "changed": decided.changed}
