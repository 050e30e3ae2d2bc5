"""Texts and ids that no door may let through."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest
import sqlalchemy as sa

from remand_app.domain.errors import InputInvalid, TextInvalid, ValueRefused
from remand_app.domain.instants import LATEST
from remand_app.engine.operate import Who
from remand_app.engine.submit import SubmitRequest, submit
from remand_app.store.ids import first_id_at, instant_of
from tests.support.engine import Harness
from tests.support.shapes import shape

LAST = UUID("ffffffff-ffff-7fff-bfff-ffffffffffff")


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x" * 20_001])
def test_who_decides_and_why_are_texts_that_can_be_stored(text: str) -> None:
    with pytest.raises(TextInvalid):
        Who(text)
    with pytest.raises(TextInvalid):
        Who("ann", text)


@pytest.mark.parametrize("by", ["a\0b", "\udcff", "x" * 1_001])
def test_submitter_is_a_text_that_can_be_stored(harness: Harness, by: str) -> None:
    harness.publish(shape("one", {"a": ()}))
    with pytest.raises(TextInvalid):
        submit(harness.engine, "t/one", SubmitRequest({}), by=by)
    assert harness.database.call("select count(*) from remand.workflows") == [(0,)]


def test_id_of_a_day_to_come_is_refused(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    with pytest.raises(InputInvalid, match="which is to come"):
        submit(harness.engine, "t/one", SubmitRequest({}, id=LAST), by="ann")


@pytest.mark.parametrize("far", [0, 10**12])
def test_id_of_before_there_were_any_is_refused(harness: Harness, far: int) -> None:
    harness.publish(shape("one", {"a": ()}))
    old = first_id_at(datetime.fromtimestamp(far / 1000, UTC))
    with pytest.raises(InputInvalid, match="when there were none"):
        submit(harness.engine, "t/one", SubmitRequest({}, id=old), by="ann")
    assert harness.database.call("select count(*) from remand.workflows") == [(0,)]


@pytest.mark.parametrize("text", ["a\0b", "\udcff"])
def test_whatever_no_check_saw_is_refused_in_words(harness: Harness, text: str) -> None:
    with pytest.raises(ValueRefused), harness.database.begin() as connection:
        connection.execute(sa.text("select cast(:text as text)"), {"text": text})
    with pytest.raises(ValueRefused):
        harness.database.call("select %s", (text,))
    assert harness.database.call("select 1") == [(1,)]


def test_id_beyond_all_years_is_read_as_the_last_instant() -> None:
    assert instant_of(LAST) == LATEST
