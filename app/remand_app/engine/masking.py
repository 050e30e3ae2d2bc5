"""Mask secrets in users' data before it is shown: one place, so that every interface masks the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

from remand.failure import Failure
from remand.redact import redact_json
from remand_app.store import failure_json
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
        shown["failure"] = failure_json.read_if_any(redact_json(failure.to_json(), keys))
    return dataclasses.replace(value, **shown)
