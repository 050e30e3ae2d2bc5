"""Fit a snapshot into its size limit: leave out the largest texts and values first, note what is missing."""

from __future__ import annotations

import json
from typing import Any

CUT = "[left out: the snapshot was too large]"
_OF_WORKFLOW = (
    "id", "template", "template_hash", "state", "state_since", "created_at", "submitted_by", "priority",
    "input",
)  # fmt: skip
_ROUNDS = (
    ("steps", "result"),
    ("steps", "checkpoint"),
    ("attempts", "traceback"),
    ("steps", "input"),
    ("workflow", "input"),
    ("steps", "traceback"),
)


def fit(snapshot: dict[str, Any], max_bytes: int) -> dict[str, Any]:
    """Return the snapshot with parts left out until its JSON text has at most `max_bytes`.

    Left out in this order: results, checkpoints, tracebacks of earlier attempts, inputs, tracebacks of steps,
    then moves, attempts and steps but the failed ones. `left_out` names what is missing.
    """
    left_out: list[str] = []
    fitted = snapshot
    for part, field in _ROUNDS:
        if _size(fitted) <= max_bytes:
            return _marked(fitted, left_out)
        fitted = {**fitted, part: _without(fitted[part], field)}
        left_out.append(f"{part}.{field}")
    for part in ("moves", "attempts"):
        if _size(fitted) > max_bytes:
            fitted = {**fitted, part: fitted[part][-5:]}
            left_out.append(f"{part} but the last 5")
    if _size(fitted) > max_bytes:
        failed = [step for step in fitted["steps"] if step["state"] == "error"]
        fitted = {**fitted, "steps": failed[:20]}
        left_out.append("steps but the failed ones")
    return _marked(fitted, left_out)


def unread(workflow_id: str, why: str) -> dict[str, Any]:
    """Return the placeholder of a snapshot that could not be taken; `left_out` says why."""
    said = dict.fromkeys(_OF_WORKFLOW)
    nothing: dict[str, Any] = {"steps": [], "attempts": [], "moves": []}
    return {"workflow": {**said, "id": workflow_id}, **nothing, "left_out": [f"everything: {why}"]}


def _marked(snapshot: dict[str, Any], left_out: list[str]) -> dict[str, Any]:
    return {**snapshot, "left_out": left_out}


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _without(part: Any, field: str) -> Any:
    """Replace a field of each row, or of the failure inside it, where there is one."""
    if isinstance(part, list):
        return [_without(row, field) for row in part]
    row = dict(part)
    if row.get(field) is not None:
        row[field] = CUT
    failure = row.get("failure")
    if isinstance(failure, dict) and failure.get(field) is not None:
        row["failure"] = {**failure, field: CUT}
    return row
