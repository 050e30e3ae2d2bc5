"""Filters are declared once: what addresses and stored orders say is read by their declaration."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from remand_app.domain import filters
from remand_app.domain.audit_filter import AuditFilter
from remand_app.domain.dead_letter_filter import LetterFilter
from remand_app.domain.errors import InputInvalid
from remand_app.domain.group_filter import GroupFilter
from remand_app.domain.states import DeadLetterStatus, DeadReason, GroupState, WorkflowState
from remand_app.domain.template_reference import split_reference
from remand_app.domain.workflow_filter import WorkflowFilter

ONE, TWO = UUID(int=1), UUID(int=2)
AT = datetime(2026, 11, 27, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        (LetterFilter(), {}),
        (LetterFilter(statuses=()), {"status": ["all"]}),
        (LetterFilter(ids=(ONE, TWO)), {"ids": [f"{ONE},{TWO}"]}),
        (
            LetterFilter(reasons=(DeadReason.EXPIRED, DeadReason.PERMANENT_FAILURE), opened_from=AT),
            {"reason": ["expired", "permanent_failure"], "opened_from": [AT.isoformat()]},
        ),
        (AuditFilter(by="ann", workflow_id=ONE, since=AT),
         {"by": ["ann"], "workflow_id": [str(ONE)], "since": [AT.isoformat()]}),
        (GroupFilter(states=(GroupState.RESOLVED,), order="largest"),
         {"state": ["resolved"], "order": ["largest"]}),
        (WorkflowFilter(states=(WorkflowState.ERROR,), id_prefix="7b"), {"state": ["error"], "id": ["7b"]}),
    ],
)  # fmt: skip
def test_a_filter_is_written_into_an_address_and_read_from_it(
    wanted: Any, fields: dict[str, list[str]]
) -> None:
    assert filters.written(wanted) == fields
    assert filters.read(type(wanted), fields) == wanted


def test_fields_that_are_unknown_or_empty_ask_for_nothing() -> None:
    assert filters.read(AuditFilter, {"cursor": ["x"], "by": [" "], "verb": []}) == AuditFilter()


@pytest.mark.parametrize(
    ("of", "fields", "says"),
    [
        (WorkflowFilter, {"state": ["asleep"]}, "this is no state"),
        (AuditFilter, {"workflow_id": ["x"]}, "this is no workflow id"),
        (GroupFilter, {"order": ["pretty"]}, "groups have no order 'pretty'"),
        (LetterFilter, {"category": ["bad"]}, "no category"),
    ],
)
def test_a_value_that_is_unknown_is_refused(of: type, fields: dict[str, list[str]], says: str) -> None:
    with pytest.raises(InputInvalid, match=says):
        filters.read(of, fields)


def test_what_is_stored_of_a_filter_is_the_filter() -> None:
    wanted = LetterFilter(
        statuses=(DeadLetterStatus.PENDING,), ids=(ONE,), group_id=TWO, categories=("permanent",),
        text="no such", opened_before=AT,
    )  # fmt: skip
    assert LetterFilter.from_json(wanted.to_json()) == wanted
    assert LetterFilter.from_json({"statuses": [], "template": None}) == LetterFilter(statuses=())


@pytest.mark.parametrize(
    "stored",
    [
        {"colour": "red"},
        {"statuses": ["asleep"]},
        {"ids": [7]},
        {"template": 7},
        {"opened_from": "2026-11-27"},
        {"group_id": "x"},
        {"reasons": 7},
    ],
)
def test_a_stored_filter_that_says_anything_else_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(InputInvalid):
        LetterFilter.from_json(stored)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("order", ("", "order", "")),
        ("shop/order", ("shop", "order", "")),
        ("shop/order:2", ("shop", "order", "2")),
        ("order:2", ("", "order", "2")),
    ],
)
def test_a_reference_to_a_template_may_leave_out_its_ends(text: str, parts: tuple[str, str, str]) -> None:
    assert split_reference(text) == parts
