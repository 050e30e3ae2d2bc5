"""What users gave, as it is shown: values whose names are secrets are masked, as in every answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.store.steps import Step
from app.store.workflows import Workflow
from remand.redact import redact_json


def masked_step(step: Step, keys: Sequence[str]) -> Step:
    """Return a step without secrets in its input, checkpoint and result."""
    return replace(
        step,
        input=redact_json(step.input, keys),
        checkpoint=redact_json(step.checkpoint, keys),
        result=redact_json(step.result, keys),
    )


def masked_workflow(workflow: Workflow, keys: Sequence[str]) -> Workflow:
    """Return a workflow without secrets in its input."""
    return replace(workflow, input=redact_json(workflow.input, keys))
