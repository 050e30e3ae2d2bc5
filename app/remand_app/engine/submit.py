"""Submit workflows: validate, store all of it in one transaction, then ring."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from remand_app.domain.errors import InputInvalid
from remand_app.domain.labels import check_labels
from remand_app.domain.template import Template, identity_key, validate_input
from remand_app.domain.text import check_text
from remand_app.engine.engine import Engine
from remand_app.engine.workflow_ids import workflow_id
from remand_app.store.templates import PublishedTemplate
from remand_app.store.workflows import NewWorkflow, Submitted, insert_workflows
from remand_app.telemetry import log, traces

CHUNK = 500
"""Workflows stored by one statement; a larger submit is several of them in order."""


@dataclass(frozen=True, slots=True)
class SubmitRequest:
    """One workflow that somebody wants; `id` makes a repeated request the same one."""

    input: Any
    key: str | None = None
    priority: int | None = None
    id: UUID | None = None
    tags: tuple[str, ...] = ()
    """Words to find it by; a repeated submit leaves those of the first."""


def submit(engine: Engine, ref: str, request: SubmitRequest, *, by: str) -> Submitted:
    """Submit one workflow of the template `ref` ("namespace/name[:version]").

    Transaction: own; announced after the commit, by the ring sweep if the bell is lost.
    Idempotent: by id, and by the template's identity strategy.

    Raises:
        TemplateNotFound, InputInvalid, InputTooLarge, IdentityInvalid: nothing was stored.
        DatabaseUnreachable: nothing is known to be stored; the same id may be submitted again.
    """
    return submit_many(engine, ref, [request], by=by)[0]


def submit_many(engine: Engine, ref: str, requests: Sequence[SubmitRequest], *, by: str) -> list[Submitted]:
    """Submit many workflows of one template; one answer each, in order.

    Every input is validated before anything is stored. Transaction: one for each 500.
    """
    check_text(by, "name of the submitter")
    started_ns = time.time_ns()
    published = engine.templates.find(ref)
    new = [_new_workflow(engine, published, request, position) for position, request in enumerate(requests)]
    answers: list[Submitted] = []
    for start in range(0, len(new), CHUNK):
        chunk = new[start : start + CHUNK]
        answers += insert_workflows(engine.database, engine.clock, published.id, chunk, by=by)
        engine.bell.ring(root_queues(published.template))
    _log(published, answers)
    _trace(published, answers, started_ns)
    return answers


def root_queues(template: Template) -> set[str]:
    """Return the queues of the steps that start first."""
    return {step.queue for step in template.steps if not step.depends_on}


def _new_workflow(
    engine: Engine, published: PublishedTemplate, request: SubmitRequest, position: int
) -> NewWorkflow:
    template = published.template
    if request.priority is not None and not 0 <= request.priority <= 9:
        raise InputInvalid(f"priority {request.priority} is not 0 to 9", details={"position": position})
    return NewWorkflow(
        workflow_id(request.id, position),
        validate_input(template, request.input, engine.settings.input_max_bytes),
        identity_key(template, request.input, request.key),
        template.priority if request.priority is None else request.priority,
        tuple(check_labels(request.tags, "tag")),
    )


def _log(published: PublishedTemplate, answers: Sequence[Submitted]) -> None:
    template = published.template
    named = {"namespace": template.namespace, "template": template.name, "version": template.version}
    existing = sum(not answer.created for answer in answers)
    if len(answers) == 1:
        log("workflow.submitted", workflow_id=str(answers[0].workflow_id), found=bool(existing), **named)
    elif answers:
        log("workflows.submitted", count=len(answers), found=existing, **named)


def _trace(published: PublishedTemplate, answers: Sequence[Submitted], started_ns: int) -> None:
    tracing = traces.active()
    if tracing is not None:
        template = published.template
        name = f"{template.namespace}/{template.name}"
        attributes = {"remand.template": name, "remand.template_version": template.version}
        tracing.submitted(
            [answer.workflow_id for answer in answers if answer.created], name, attributes, started_ns
        )
