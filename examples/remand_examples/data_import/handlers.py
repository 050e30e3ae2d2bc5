"""The steps of `data_import/airports`: split, six validations in parallel, aggregate, report.

Broken rows are data, not failures: they are counted and listed. A file that is missing or cut short fails.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from remand import PermanentError, RetryableError, StepContext, handler
from remand_examples.data_import.rows import BadRow, Part, find_parts, parse_row, read_lines

PARTS = 6
_HEARTBEAT_ROWS = 100


@handler("data_import.split")
def split(ctx: StepContext) -> dict[str, Any]:
    """Cut the file into PARTS ranges of whole lines.

    Raises FileNotFoundError if it is not there, PermanentError if it is not a complete airports file.
    """
    path = _input_path(ctx)
    try:
        parts = find_parts(path, PARTS)
    except BadRow as error:
        raise PermanentError(str(error), category="validation") from error
    return {"rows": sum(part.rows for part in parts), "parts": [asdict(part) for part in parts]}


@handler("data_import.validate")
def validate(ctx: StepContext) -> dict[str, Any]:
    """Check each row of one part; the step's name ends with the number of the part, from 1.

    Raises RetryableError if the file has changed since it was split: somebody is still writing it.
    """
    number = int(ctx.step.rpartition("_")[2])
    part = Part(**ctx.parents["split"]["parts"][number - 1])
    lines = read_lines(_input_path(ctx), part)
    if len(lines) != part.rows:
        raise RetryableError(
            f"part {number}: {len(lines)} lines instead of {part.rows}; the file has changed"
        )
    accepted: list[list[str | int]] = []
    rejected: list[dict[str, str | int]] = []
    for line_number, line in enumerate(lines, start=part.first_line):
        if line_number % _HEARTBEAT_ROWS == 0:
            ctx.heartbeat()
        try:
            airport = parse_row(line)
        except BadRow as error:
            rejected.append({"line": line_number, "reason": str(error)})
        else:
            accepted.append([line_number, airport.code, airport.state])
    return {"accepted": accepted, "rejected": rejected}


@handler("data_import.aggregate")
def aggregate(ctx: StepContext) -> dict[str, Any]:
    """Join the parts: reject codes seen before, count airports by state, list the rejected rows.

    Raises PermanentError if accepted and rejected rows do not add up to the rows of the file.
    """
    parts = [ctx.parents[f"validate_{number}"] for number in range(1, PARTS + 1)]
    rejected = [row for part in parts for row in part["rejected"]]
    first_lines: dict[str, int] = {}
    by_state: Counter[str] = Counter()
    for line, code, state in (row for part in parts for row in part["accepted"]):
        if code in first_lines:
            rejected.append({"line": line, "reason": f"iata {code} is already on line {first_lines[code]}"})
        else:
            first_lines[code] = line
            by_state[state] += 1
    rejected.sort(key=lambda row: int(row["line"]))
    rows = ctx.parents["split"]["rows"]
    if len(first_lines) + len(rejected) != rows:
        raise PermanentError(f"{len(first_lines)} accepted and {len(rejected)} rejected rows of {rows}")
    return {"rows": rows, "accepted": len(first_lines), "rejected": rejected, "by_state": dict(by_state)}


@handler("data_import.report")
def report(ctx: StepContext) -> dict[str, Any]:
    """Say in a few lines of text what was imported and what was not."""
    joined = ctx.parents["aggregate"]
    top = Counter[str](joined["by_state"]).most_common(5)
    text = [
        f"{joined['accepted']} of {joined['rows']} airports accepted in {len(joined['by_state'])} states",
        "most airports: " + ", ".join(f"{state} {count}" for state, count in top),
        f"{len(joined['rejected'])} rows rejected:",
        *(f"  line {row['line']}: {row['reason']}" for row in joined["rejected"]),
    ]
    return {"accepted": joined["accepted"], "rejected": len(joined["rejected"]), "text": "\n".join(text)}


def _input_path(ctx: StepContext) -> Path:
    given = ctx.input.get("path")
    if given is not None:
        return Path(given)
    return Path(str(resources.files("remand_examples.data_import") / "data" / "airports.csv"))
