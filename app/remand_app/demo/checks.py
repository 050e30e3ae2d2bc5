"""Compare what the demo did with what it had to do. Nothing here starts or changes anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID

from remand.errors import RemandError
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.states import WorkflowState
from remand_app.store.database import Database
from remand_app.store.dead_letter_search import list_page
from remand_app.store.dead_letters import LetterRow
from remand_app.store.steps import attempts_of
from remand_app.store.workflows import states_of


class DemoFailed(RemandError):
    """Something that the demo promises did not happen; `details["reasons"]` lists all of it."""

    code: ClassVar[str] = "DEMO_FAILED"
    exit_code: ClassVar[int] = 1

    def __init__(self, reasons: Sequence[str], figures: Mapping[str, Any] | None = None) -> None:
        """`figures`: what was measured, for programs."""
        lines = "".join(f"\n  {reason}" for reason in reasons)
        details = {**(figures or {}), "reasons": list(reasons)}
        super().__init__(f"not everything happened as it must:{lines}", details=details)


@dataclass(frozen=True, slots=True)
class Submission:
    """One scenario of the examples, as submitted."""

    name: str
    template: str
    input: Mapping[str, Any]
    expect: str
    workflow_id: UUID

    @property
    def is_order(self) -> bool:
        """True for a workflow that charges a card."""
        return "order_id" in self.input


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the database says of the demo's workflows."""

    states: Mapping[UUID, WorkflowState]
    letters: Sequence[LetterRow]
    retries: Mapping[UUID, Counter[str]]
    """Workflow → policy → attempts that were tried again."""
    total: Counter[str] = field(default_factory=Counter)

    @property
    def lost(self) -> int:
        """Workflows that neither ended nor wait for a person."""
        held = {letter.workflow_id for letter in self.letters if letter.status.is_open}
        return sum(
            not state.is_final and workflow_id not in held for workflow_id, state in self.states.items()
        )


def collect(database: Database, ids: Sequence[UUID]) -> Evidence:
    """Read the evidence. Transaction: several reads."""
    retries = {workflow_id: _retries(database, workflow_id) for workflow_id in ids}
    letters = [
        letter
        for workflow_id in ids
        for letter in list_page(database, LetterFilter(statuses=(), workflow_id=workflow_id)).items
    ]
    total = sum(retries.values(), Counter[str]())
    return Evidence(states_of(database, ids), letters, retries, total)


def _retries(database: Database, workflow_id: UUID) -> Counter[str]:
    attempts = attempts_of(database, workflow_id)
    return Counter(
        attempt.policy for attempt in attempts if attempt.decision == "retry" and attempt.policy is not None
    )


def first_round(submissions: Iterable[Submission], evidence: Evidence) -> list[str]:
    """Return what is not as expected when everything has ended or waits for a person."""
    reasons = []
    with_letters = {letter.workflow_id for letter in evidence.letters if letter.status.is_open}
    for submission in submissions:
        state = evidence.states[submission.workflow_id]
        if submission.expect == "dead_letter":
            if not (state.needs_person and submission.workflow_id in with_letters):
                reasons.append(f"{submission.name}: is {state}, where a dead letter was to be opened")
            continue
        if state is not WorkflowState.COMPLETE:
            reasons.append(f"{submission.name}: is {state}, not complete")
        _, _, policy = submission.expect.partition(":")
        if policy and not evidence.retries[submission.workflow_id][policy]:
            reasons.append(f"{submission.name}: was not retried by policy {policy}")
    return reasons


def last_round(submissions: Sequence[Submission], evidence: Evidence, ledger: Mapping[str, Any]) -> list[str]:
    """Return what is not as expected at the end."""
    reasons = [
        f"{submission.name}: is {evidence.states[submission.workflow_id]} at the end"
        for submission in submissions
        if not evidence.states[submission.workflow_id].is_final
    ]
    left = [letter for letter in evidence.letters if letter.status.is_open]
    reasons += [f"dead letter {letter.id} is still {letter.status}" for letter in left]
    if evidence.lost:
        reasons.append(f"{evidence.lost} workflows are lost")
    return reasons + _ledger_reasons(
        [submission for submission in submissions if submission.is_order], ledger
    )


def _ledger_reasons(orders: Sequence[Submission], ledger: Mapping[str, Any]) -> list[str]:
    booked = Counter((entry["kind"], entry["order_id"]) for entry in ledger["entries"])
    reasons = []
    for order in orders:
        for kind in ("reservation", "check", "charge", "notice"):
            times = booked[kind, order.input["order_id"]]
            if times != 1:
                reasons.append(f"{order.name}: {kind} was booked {times} times, not once")
    wanted = sum(order.input["amount"] for order in orders)
    charged = sum(ledger["charged"].values())
    if charged != wanted:
        reasons.append(f"the gateway charged {charged} cents, not {wanted}")
    return reasons
