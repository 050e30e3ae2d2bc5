"""Mask secrets in users' data before it is shown: one place, so that every interface masks the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeVar

from app.store.steps import Attempt, Step
from app.store.workflows import Workflow
from remand.redact import redact_json

_VALUES = ("input", "checkpoint", "failure", "result")

Shown = TypeVar("Shown", Step, Attempt, Workflow)


def masked(value: Shown, keys: Sequence[str]) -> Shown:
    """Return a step, attempt or workflow whose user data is masked under keys that look like secrets."""
    fields = {field.name for field in dataclasses.fields(value)} & set(_VALUES)
    return dataclasses.replace(value, **{name: redact_json(getattr(value, name), keys) for name in fields})
