"""What came of a run, held to the model: results, letters, runs, invariants, and what is left over."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from remand_app.store.database import NOT_NOW
from tests.chaos.model import End, Planned, ends_of
from tests.chaos.site import ChaosSite
from tests.support.invariants import check_invariants

_AT_REST = ("complete", "blocked_by_failures", "error", "cancelled", "resolved_manually")
_STATES = "select id, state from remand.workflows where id = any(%s::uuid[])"
_STEPS = "select workflow_id, name, state, result from remand.steps where workflow_id = any(%s::uuid[])"
_LETTERS = "select workflow_id, step, status, error_class, error_message from remand.dead_letters"
_ATTEMPTS = (
    "select workflow_id, step, attempt, outcome from remand.all_attempts where workflow_id = any(%s::uuid[])"
)
_LEFT = "select workflow_id, step, phase from remand.run_queue"
_SOME_LEFT = "select exists (select from remand.run_queue)"
_TOLD = 20


@dataclass(slots=True)
class Verdict:
    """The figures of a run; `problems` says what is not as it must be, and is empty where all is well."""

    workflows: int = 0
    steps: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    restarts: int = 0
    letters_expected: int = 0
    letters_found: int = 0
    wrong_results: int = 0
    lost_workflows: int = 0
    attempts: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    runs: int = 0
    double_runs: int = 0
    """Runs of an attempt that had run before under the same number."""
    unexplained_runs: int = 0
    """Runs of which no attempt tells."""
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def under_way(site: ChaosSite, sent: Mapping[UUID, Planned]) -> bool:
    """Return whether something that was submitted may still change by itself."""
    try:
        if site.database.call(_SOME_LEFT)[0][0]:
            return True
        rows = site.database.call(_STATES, (list(sent),))
    except NOT_NOW:
        return True
    return len(rows) < len(sent) or any(state not in _AT_REST for _, state in rows)


def judge(site: ChaosSite, sent: Mapping[UUID, Planned], wanted: int, problems: Sequence[str]) -> Verdict:
    """Compare what is stored with what must be."""
    # A pool may still hold connections from before a restart.
    site.database.dispose()
    expected = {workflow_id: ends_of(planned) for workflow_id, planned in sent.items()}
    verdict = Verdict(workflows=len(sent), steps=sum(map(len, expected.values())), restarts=site.restarts)
    found = verdict.problems
    found += problems
    if len(sent) < wanted:
        found.append(f"only {len(sent)} of {wanted} workflows could be submitted")
    for told in (
        _wrong_steps(site, expected, verdict),
        _wrong_letters(site, expected, verdict),
        _wrong_runs(site, expected, verdict),
        _left_over(site),
    ):
        found += list(told)[:_TOLD]
    return verdict


def _wrong_steps(
    site: ChaosSite, expected: Mapping[UUID, Mapping[str, End]], verdict: Verdict
) -> Iterator[str]:
    stored: dict[UUID, dict[str, End]] = {}
    for workflow_id, name, state, result in site.database.call(_STEPS, (list(expected),)):
        stored.setdefault(workflow_id, {})[name] = End(state, result if state == "complete" else None)
    for workflow_id, ends in expected.items():
        found = stored.get(workflow_id)
        if found is None:
            verdict.lost_workflows += 1
            yield f"workflow {workflow_id} is lost"
            continue
        for name, end in ends.items():
            if found.get(name) != end:
                verdict.wrong_results += 1
                yield f"workflow {workflow_id} step {name}: {_short(found.get(name))}, not {_short(end)}"


def _wrong_letters(
    site: ChaosSite, expected: Mapping[UUID, Mapping[str, End]], verdict: Verdict
) -> Iterator[str]:
    failed = {
        workflow_id: {name for name, end in ends.items() if end.state == "error"}
        for workflow_id, ends in expected.items()
    }
    verdict.letters_expected = sum(map(bool, failed.values()))
    had: Counter[UUID] = Counter()
    for workflow_id, step, status, error_class, message in site.database.call(_LETTERS):
        verdict.letters_found += 1
        had[workflow_id] += 1
        if status != "pending" or step not in failed.get(workflow_id, ()):
            yield f"letter of {workflow_id} step {step} ({status}): {error_class}: {message}"
    for workflow_id, steps in failed.items():
        if had[workflow_id] != bool(steps):
            yield f"workflow {workflow_id} has {had[workflow_id]} letters, {sorted(steps)} fail on purpose"


def _wrong_runs(
    site: ChaosSite, expected: Mapping[UUID, Mapping[str, End]], verdict: Verdict
) -> Iterator[str]:
    """Hold what handlers noted outside Postgres to the attempts."""
    outcomes: dict[tuple[str, str, int], str] = {}
    for workflow_id, step, attempt, outcome in site.database.call(_ATTEMPTS, (list(expected),)):
        outcomes[str(workflow_id), step, attempt] = outcome
    verdict.attempts = len(outcomes)
    verdict.outcomes = dict(Counter(outcomes.values()))
    runs: dict[str, dict[tuple[str, str, int], list[str]]] = {"start": {}, "end": {}}
    for line in _lines(site):
        kind, workflow, step, number, pid, at = line.split(" ")
        runs[kind].setdefault((workflow, step, int(number)), []).append(f"process {pid} at {at}")
    for key, starts in runs["start"].items():
        verdict.runs += len(starts)
        if len(starts) > 1:
            verdict.double_runs += len(starts) - 1
            yield f"attempt {key} ({outcomes.get(key)}) ran {len(starts)} times: {starts}"
        if key not in outcomes:
            verdict.unexplained_runs += 1
            yield f"attempt {key} ran, and nothing tells of it: {starts}"
    for key, outcome in outcomes.items():
        if outcome == "complete" and key not in runs["end"]:
            yield f"attempt {key} is recorded as a success, but never ended"


def _lines(site: ChaosSite) -> list[str]:
    path = site.folder / "runs"
    return path.read_text().splitlines() if path.exists() else []


def _left_over(site: ChaosSite) -> Iterator[str]:
    for workflow_id, step, phase in site.database.call(_LEFT):
        yield f"the run queue still has {workflow_id} step {step}, {phase}"
    try:
        check_invariants(site.database, site.settings)
    except AssertionError as broken:
        yield from str(broken).splitlines()
    for log, count in site.bugs().items():
        yield f"the log of {log} speaks of {count} bugs: {site.log_path(log)}"


def _short(end: Any) -> str:
    return "nothing" if end is None else f"{end.state} {str(end.result)[:80]}"
