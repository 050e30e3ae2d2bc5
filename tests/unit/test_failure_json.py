"""What is stored of a failure, and what is read of rows that are older or broken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from remand.failure import capture
from remand_app.store import failure_json

FAILURE = capture(ConnectionResetError("gone"))


def row(**changes: Any) -> dict[str, Any]:
    return {**FAILURE.to_json(), **changes}


def test_what_is_written_is_read() -> None:
    assert failure_json.read(json.loads(failure_json.write(FAILURE))) == (FAILURE, None)


def test_keys_of_a_newer_version_are_left_out() -> None:
    assert failure_json.read(row(mood="bad")) == (FAILURE, None)


@pytest.mark.parametrize("without", ["facts", "fingerprint", "causes", "traceback"])
def test_a_row_of_before_is_read_whole(without: str) -> None:
    stored = row()
    del stored[without]

    failure, unread = failure_json.read(stored)

    assert unread is None
    assert (failure.error_class, failure.classification) == (FAILURE.error_class, FAILURE.classification)


@pytest.mark.parametrize(
    "stored",
    [row(classification=None), row(classification={"category": 1}), row(message=7), row(causes=3)],
    ids=["no verdict", "another verdict", "another message", "other causes"],
)
def test_of_a_broken_row_is_read_what_can_be(stored: dict[str, Any]) -> None:
    failure, _ = failure_json.read(stored)

    assert failure.error_class == FAILURE.error_class
    assert failure.message
    assert failure.classification.rule


@pytest.mark.parametrize("stored", [None, [], "no", {}])
def test_of_a_row_that_holds_no_failure_is_said_so(stored: Any) -> None:
    failure, unread = failure_json.read(stored)

    assert unread is not None
    assert "cannot be read" in failure.message
