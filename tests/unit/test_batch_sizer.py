from __future__ import annotations

import pytest

from remand_app.engine.batch_sizer import BatchSizer


@pytest.fixture
def sizer() -> BatchSizer:
    return BatchSizer(batch_size=50, budget_seconds=1.0)


def test_a_step_of_an_unknown_kind_is_claimed_alone(sizer: BatchSizer) -> None:
    assert sizer.size("steps") == 1


@pytest.mark.parametrize(
    ("seconds", "k"), [(0.0, 50), (0.001, 50), (0.1, 10), (0.25, 4), (0.6, 1), (1.0, 1), (3600.0, 1)]
)
def test_as_many_are_claimed_as_fit_the_budget_but_one_at_least(
    sizer: BatchSizer, seconds: float, k: int
) -> None:
    sizer.note("steps", seconds, 1)

    assert sizer.size("steps") == k


def test_the_time_of_a_batch_is_shared_by_its_steps(sizer: BatchSizer) -> None:
    sizer.note("steps", 2.0, 20)

    assert sizer.size("steps") == 10


def test_a_long_step_counts_at_once_and_short_ones_make_up_for_it_by_and_by(sizer: BatchSizer) -> None:
    sizer.note("steps", 0.1, 1)
    sizer.note("steps", 1.0, 1)
    after_the_long_one = sizer.size("steps")
    ks = []
    for _ in range(20):
        sizer.note("steps", 0.1, 1)
        ks.append(sizer.size("steps"))

    assert after_the_long_one == 1
    assert ks[:2] == [1, 2]
    assert ks == sorted(ks)
    assert ks[-1] == 9  # int() of a mean that is still a hair above a tenth


def test_a_batch_that_ran_nothing_teaches_nothing(sizer: BatchSizer) -> None:
    sizer.note("steps", 0.1, 1)
    sizer.note("steps", 5.0, 0)

    assert sizer.size("steps") == 10


def test_queues_have_a_pace_of_their_own(sizer: BatchSizer) -> None:
    sizer.note("slow", 1.0, 1)
    sizer.note("fast", 0.01, 1)

    assert (sizer.size("slow"), sizer.size("fast"), sizer.size("new")) == (1, 50, 1)
