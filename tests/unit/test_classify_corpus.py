"""Look-alikes of real exceptions, built without their libraries, against the class they belong to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from remand.classify import Classification, classify
from tests.support.lookalikes import accepted, corpus_rows, look_alike

NOW = datetime(2026, 10, 1, tzinfo=UTC)
ROWS = corpus_rows()
# Nothing tells what it means: the bounded retries of an unknown are right.
UNKNOWABLE = {"app.errors.ThreeArgs"}


def told(row: dict[str, str], verdict: Classification) -> str:
    return (
        f"{row['class']} {row['attributes']} {row['message'][:70]!r}: "
        f"{row['category']}/{row['policy']} expected, {verdict.category}/{verdict.policy} by {verdict.rule}"
    )


VERDICTS = [(row, classify(look_alike(row), now=NOW)) for row in ROWS]


def test_retry_or_never_is_right() -> None:
    misses = [told(row, v) for row, v in VERDICTS if (v.policy == "never") != (row["policy"] == "never")]
    assert len(ROWS) == 216
    assert len(misses) <= len(UNKNOWABLE), "\n".join(misses)


def test_category_and_policy_are_right() -> None:
    misses = [
        told(row, verdict)
        for row, verdict in VERDICTS
        if row["class"] not in UNKNOWABLE and (verdict.category, verdict.policy) not in accepted(row)
    ]
    assert misses == []


def test_only_unknowable_classes_stay_unclassified() -> None:
    unknown = {row["class"] for row, verdict in VERDICTS if verdict.rule == "unclassified"}
    assert unknown == UNKNOWABLE | {"app.errors.TransientError"}


@pytest.mark.parametrize(
    ("row", "verdict"), [(r, v) for r, v in VERDICTS if r["retry_after"]], ids=lambda x: str(x)[:20]
)
def test_the_wait_that_was_asked_for_is_kept(row: dict[str, str], verdict: Classification) -> None:
    assert verdict.retry_after is not None
    if row["retry_after"].isdigit():
        assert verdict.retry_after.total_seconds() == int(row["retry_after"])
