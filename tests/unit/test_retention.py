"""Which workflows go to the archive, and how a period goes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from remand_app.domain.archive import (
    ArchiveOverrides,
    ArchivePolicies,
    Census,
    Stay,
    Way,
    cutoff,
    due_at,
    kept_outcomes,
    way_of,
)

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def test_a_template_may_keep_what_goes_elsewhere_and_let_go_what_is_kept() -> None:
    policies = ArchivePolicies(error="keep")
    own = {7: ArchiveOverrides(complete="keep"), 8: ArchiveOverrides(error="archive"), 9: ArchiveOverrides()}

    assert kept_outcomes(policies, own) == ["7:complete", "7:error", "9:error"]


def test_a_period_is_due_once_it_is_over_and_was_restored_for_the_retention() -> None:
    assert cutoff(NOW, 30) == NOW - timedelta(days=30)
    assert due_at(NOW, [], 30) == NOW + timedelta(days=30)
    assert due_at(NOW, [NOW + timedelta(days=5)], 30) == NOW + timedelta(days=35)


@pytest.mark.parametrize(
    ("go", "stay", "is_begun", "way"),
    [
        (9, {}, False, Way.PERIOD),
        (9, {Stay.LIVE: 2}, False, Way.PERIOD),
        (0, {Stay.LIVE: 2}, False, Way.PERIOD),
        (9, {Stay.LIVE: 1, Stay.RECENT: 1, Stay.KEPT: 1}, False, Way.WAIT),
        (9, {Stay.RECENT: 50}, False, Way.WAIT),
        (9, {Stay.LIVE: 1, Stay.LETTER: 1, Stay.KEPT: 1}, False, Way.BATCH),
        (0, {Stay.KEPT: 3}, False, Way.STAY),
        (9, {}, True, Way.BATCH),
        (9, {Stay.KEPT: 3}, True, Way.BATCH),
        (0, {Stay.KEPT: 3}, True, Way.STAY),
        (0, {Stay.KEPT: 2}, True, Way.RETIRE),
        (0, {}, True, Way.RETIRE),
        (0, {}, False, Way.RETIRE),
    ],
)
def test_how_a_period_goes(go: int, stay: dict[Stay, int], way: Way, *, is_begun: bool) -> None:
    assert way_of(Census(go, stay), 2, is_begun=is_begun) is way
