"""How many ends are recorded together, and what becomes of those that cannot be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import UUID

import pytest

from remand.failure import capture
from remand_app.domain.errors import Busy, DatabaseUnreachable, ValueRefused
from remand_app.engine import attempt_ends
from remand_app.engine.attempt_ends import Key, in_halves
from remand_app.store.claims import EndedBadly

WORKER = UUID(int=9)


def an_end(number: int, text: str = "boom") -> EndedBadly:
    failure = capture(ValueError(text))
    return EndedBadly(UUID(int=number), "a", 1, WORKER, "failed", failure, "linear")


class Store:
    """Records ends unless one of them is bad in the eyes of the test."""

    def __init__(self, *cursed: int, error: Exception, encoding: str = "utf-8") -> None:
        self.kept: dict[Key, EndedBadly] = {}
        self.calls = 0
        self._cursed, self._error, self._encoding = cursed, error, encoding

    def fail(self, ended: Sequence[EndedBadly]) -> set[Key]:
        self.calls += 1
        if any(end.workflow_id.int in self._cursed for end in ended):
            raise self._error
        for end in ended:
            try:
                json.dumps(end.failure.to_json(), ensure_ascii=False).encode(self._encoding)
            except UnicodeEncodeError as error:
                raise ValueRefused(str(error)) from error
        keys = {(end.workflow_id, end.step) for end in ended}
        self.kept.update({(end.workflow_id, end.step): end for end in ended})
        return keys


@pytest.mark.parametrize("error", [Busy("locked"), RuntimeError("ours"), ValueRefused("no")])
def test_one_end_that_cannot_be_recorded_holds_up_no_other(error: Exception) -> None:
    store = Store(3, 17, error=error)
    ended = [an_end(number) for number in range(1, 33)]

    counted, left = attempt_ends.fail(store.fail, ended)

    assert [end.workflow_id.int for end in left] == [3, 17]
    assert {key[0].int for key in counted} == set(range(1, 33)) - {3, 17}


def test_all_together_is_one_call() -> None:
    store = Store(error=RuntimeError())

    attempt_ends.fail(store.fail, [an_end(number) for number in range(1, 33)])

    assert store.calls == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("text", ["東京", "a\0b", "\udc80", "ünïcode \N{SNOWMAN}"])
def test_a_failure_in_other_letters_is_kept_in_those_there_are(encoding: str, text: str) -> None:
    store = Store(error=RuntimeError(), encoding=encoding)
    plain, odd = an_end(1, "plain"), an_end(2, text)

    counted, left = attempt_ends.fail(store.fail, [plain, odd])

    assert left == []
    assert counted[UUID(int=1), "a"] == plain
    kept = counted[UUID(int=2), "a"].failure.to_json()
    assert kept["error_class"] == "builtins.ValueError"
    assert kept["classification"]["policy"] == odd.failure.classification.policy
    assert "could not be stored" not in kept["message"]


def test_a_database_that_is_away_is_everybodys_matter() -> None:
    def away(_: Sequence[int]) -> None:
        raise DatabaseUnreachable("away")

    with pytest.raises(DatabaseUnreachable):
        in_halves([1, 2], away, lambda _one, _error: pytest.fail("it was never alone"))


def test_halves_keep_their_order() -> None:
    def some(numbers: Sequence[int]) -> list[int]:
        if 5 in numbers:
            raise RuntimeError
        return list(numbers)

    parts = in_halves(list(range(9)), some, lambda one, _: [-one])
    assert [one for part in parts for one in part] == [0, 1, 2, 3, 4, -5, 6, 7, 8]
