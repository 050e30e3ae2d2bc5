"""Mask secrets in users' data before it is shown: one place, so that every interface masks the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

from remand.failure import Failure
from remand.redact import redact_json
from remand_app.store.steps import Attempt, Step
from remand_app.store.workflows import Workflow

_VALUES = ("input", "checkpoint", "result")

Shown = TypeVar("Shown", Step, Attempt, Workflow)


def masked(value: Shown, keys: Sequence[str]) -> Shown:
    """Return a step, attempt or workflow whose user data is masked under keys that look like secrets."""
    shown = {
        field.name: redact_json(getattr(value, field.name), keys)
        for field in dataclasses.fields(value)
        if field.name in _VALUES
    }
    failure: Failure | None = getattr(value, "failure", None)
    if failure is not None:
        shown["failure"] = masked_failure(failure, keys)
    return dataclasses.replace(value, **shown)


def masked_failure(failure: Failure, keys: Sequence[str]) -> Failure:
    """Return a failure whose texts and facts are masked; `keys` name users' data, never parts of it."""
    verdict = failure.classification
    return dataclasses.replace(
        failure,
        error_class=redact_json(failure.error_class, keys),
        message=redact_json(failure.message, keys),
        traceback=redact_json(failure.traceback, keys),
        causes=tuple(redact_json(list(failure.causes), keys)),
        facts=redact_json(dict(failure.facts), keys),
        classification=dataclasses.replace(verdict, explanation=redact_json(verdict.explanation, keys)),
    )
