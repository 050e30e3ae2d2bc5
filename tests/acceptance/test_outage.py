"""A service goes down under load and comes back: once without breakers and budgets, once with them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from remand_app.demo.outage_figures import FEWER_CALLS, Figures, missed_goals
from remand_app.demo.outage_run import Plan, play
from remand_app.domain.states import BreakerState
from remand_app.domain.transitions import is_legal
from tests.support.invariants import check_invariants

pytestmark = pytest.mark.once

# Its breaker opens early, so that the difference shows on a slow machine, too, which makes few calls anyway.
PLAN = Plan(workflows=200, down_seconds=8, failures=4)


def run(folder: Path, *, guarded: bool) -> Figures:
    return play(PLAN, folder, guarded=guarded, tell=lambda moment: None, inspect=check_invariants)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Figures, Figures]:
    """Both runs: breakers and budgets off, and on."""
    folder = tmp_path_factory.mktemp("outage")
    return run(folder / "off", guarded=False), run(folder / "on", guarded=True)


def test_the_goals_are_reached(figures: tuple[Figures, Figures]) -> None:
    bare, guarded = figures
    assert missed_goals(bare, guarded, PLAN.most_per_second) == []
    assert (bare.workflows, guarded.workflows) == (PLAN.workflows, PLAN.workflows)


def test_nobody_used_up_what_an_outage_may_not_take(figures: tuple[Figures, Figures]) -> None:
    bare, guarded = figures
    assert guarded.complete == guarded.booked == PLAN.workflows
    assert guarded.dead_letters == 0
    assert 0 < guarded.failed_attempts * FEWER_CALLS <= bare.failed_attempts


def test_the_breaker_goes_its_way_and_ends_closed(figures: tuple[Figures, Figures]) -> None:
    bare, guarded = figures
    assert bare.moves == []
    assert all(is_legal("breaker", one.from_state, one.event, one.to_state) for one in guarded.moves)
    assert all(before.to_state == after.from_state for before, after in pairwise(guarded.moves))
    assert all(before.at <= after.at for before, after in pairwise(guarded.moves))
    assert guarded.moves[0].event == "trip"
    assert [one.event for one in guarded.moves[-2:]] == ["cool_down", "probes_succeeded"]
    assert guarded.moves[-1].to_state == BreakerState.CLOSED
