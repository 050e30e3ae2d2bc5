from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remand_app.dashboard.drawing import gantt, graph
from remand_app.dashboard.drawing.graph import Drawing
from remand_app.store.steps import Attempt

BEGIN = datetime(2026, 3, 2, 12, tzinfo=UTC)
DIAMOND = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}


def drawn(parents: Mapping[str, Sequence[str]]) -> Drawing:
    made = graph.lay_out(parents)
    assert made is not None
    return made


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, list[str]]:
    size = draw(st.integers(1, 14))
    return {
        f"s{i}": [f"s{p}" for p in draw(st.sets(st.integers(0, i - 1)))] if i else [] for i in range(size)
    }


@given(acyclic())
def test_every_step_has_a_place_of_its_own_inside_the_picture_right_of_its_parents(
    parents: dict[str, list[str]],
) -> None:
    made = drawn(parents)
    place = {one.name: one for one in made.nodes}
    assert set(place) == set(parents)
    assert all(place[above].x < place[name].x for name, many in parents.items() for above in many)
    for one in made.nodes:
        assert 0 <= one.x <= made.width - made.node_width
        assert 0 <= one.y <= made.height - made.node_height
    boxes = [(one.x, one.y) for one in made.nodes]
    assert not any(
        abs(x - other_x) < made.node_width and abs(y - other_y) < made.node_height
        for number, (x, y) in enumerate(boxes)
        for other_x, other_y in boxes[:number]
    )


def test_a_diamond_has_an_edge_for_each_dependency() -> None:
    made = drawn(DIAMOND)
    assert len(made.edges) == 4
    assert len({one.x for one in made.nodes}) == 3


def test_what_follows_from_other_edges_is_left_out() -> None:
    assert len(drawn({"a": [], "b": ["a"], "c": ["a", "b"]}).edges) == 2


def test_an_edge_that_skips_a_layer_passes_no_step() -> None:
    made = drawn({"a": [], "b": ["a"], "c": ["a"], "d": ["c"], "e": ["b", "d"]})
    [between] = [one for one in made.nodes if one.name == "d"]
    [edge] = [one for one in made.edges if "H" in one]
    way = int(edge.partition("H")[0].rpartition(" ")[2])
    assert not between.y <= way <= between.y + made.node_height


def test_a_long_name_is_cut_and_stays_whole_beside() -> None:
    [one] = drawn({"n" * 80: []}).nodes
    assert one.label.endswith("…")
    assert one.name == "n" * 80


@pytest.mark.parametrize(("steps", "is_drawn"), [(graph.MOST_NODES, True), (graph.MOST_NODES + 1, False)])
def test_a_graph_of_too_many_steps_is_not_drawn(steps: int, is_drawn: bool) -> None:
    assert (graph.lay_out({str(n): [] for n in range(steps)}) is not None) is is_drawn


def test_cost_of_a_picture_grows_with_its_size_alone() -> None:
    def cost(layers: int) -> float:
        wide = {
            f"{layer}.{n}": [f"{layer - 1}.{m}" for m in range(10)] if layer else []
            for layer in range(layers)
            for n in range(10)
        }
        return min(_cpu_seconds(lambda: drawn(wide)) for _ in range(3))

    assert cost(15) < 15 * cost(5)


def _cpu_seconds(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def attempt(
    step: str, begin: float | None, end: float | None, number: int = 1, how: str = "succeeded"
) -> Attempt:
    def at(seconds: float | None) -> datetime | None:
        return None if seconds is None else BEGIN + timedelta(seconds=seconds)

    return Attempt(
        step=step, attempt=number, outcome=how, worker=None, hostname=None, started_at=at(begin),
        ended_at=at(end), failure=None, policy=None, decision=None, decided_at=None, due_at=None,
        explanation=None,
    )  # fmt: skip


def test_bars_stand_where_their_attempts_were() -> None:
    made = gantt.lay_out([attempt("a", 0, 5), attempt("b", 5, 10)], BEGIN + timedelta(hours=1))
    assert made is not None
    first, second = (line.bars[0] for line in made.lines)
    room = gantt.WIDTH - gantt.LABEL
    assert (first.x, first.width) == (0, room / 2)
    assert (second.x, second.width) == (room / 2, room / 2)
    assert (made.begins, made.ends) == (BEGIN, BEGIN + timedelta(seconds=10))


def test_one_that_runs_lasts_until_now() -> None:
    made = gantt.lay_out([attempt("a", 0, None, how="running")], BEGIN + timedelta(seconds=30))
    assert made is not None
    assert made.ends == BEGIN + timedelta(seconds=30)
    assert "running, 30.000 s" in made.lines[0].bars[0].title


def test_attempts_of_one_step_share_a_line_in_the_order_of_first_starts() -> None:
    made = gantt.lay_out(
        [attempt("late", 3, 4), attempt("a", 2, 3, 2), attempt("a", 0, 1, how="failed")], BEGIN
    )
    assert made is not None
    assert [(line.step, [bar.attempt for bar in line.bars]) for line in made.lines] == [
        ("a", [1, 2]),
        ("late", [1]),
    ]


@pytest.mark.parametrize("attempts", [[], [attempt("a", None, None)]])
def test_nothing_is_drawn_before_anything_started(attempts: list[Attempt]) -> None:
    assert gantt.lay_out(attempts, BEGIN) is None


def test_more_lines_than_there_is_room_for_are_counted() -> None:
    made = gantt.lay_out([attempt(str(n), n, n + 1) for n in range(gantt.MOST_ROWS + 3)], BEGIN)
    assert made is not None
    assert (len(made.lines), made.left_out) == (gantt.MOST_ROWS, 3)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=12))
def test_every_bar_is_inside_the_picture(spans: list[tuple[float, float]]) -> None:
    made = gantt.lay_out([attempt(str(n), at, at + took) for n, (at, took) in enumerate(spans)], BEGIN)
    assert made is not None
    for line in made.lines:
        for bar in line.bars:
            assert bar.width > 0
            assert bar.x >= 0
            assert bar.x + bar.width <= gantt.WIDTH - gantt.LABEL + 0.2
