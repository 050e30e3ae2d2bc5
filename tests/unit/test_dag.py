from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remand_app.domain import dag

# A draw takes as long as the machine is busy: no deadline.
QUICK = settings(max_examples=25, deadline=None)

DIAMOND = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}


@st.composite
def acyclic(draw: st.DrawFn) -> dict[str, list[str]]:
    size = draw(st.integers(0, 12))
    parents = {
        f"s{i}": [f"s{p}" for p in draw(st.sets(st.integers(0, i - 1)))] if i else [] for i in range(size)
    }
    return {name: parents[name] for name in draw(st.permutations(list(parents)))}


@st.composite
def any_graph(draw: st.DrawFn) -> dict[str, list[str]]:
    names = [f"s{i}" for i in range(draw(st.integers(0, 8)))]
    return {name: draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) for name in names}


@QUICK
@given(acyclic())
def test_every_name_comes_once_and_after_its_parents(parents: dict[str, list[str]]) -> None:
    order = dag.topological_order(parents)
    place = {name: index for index, name in enumerate(order)}
    assert sorted(order) == sorted(parents)
    assert all(place[parent] < place[name] for name, above in parents.items() for parent in above)


@QUICK
@given(acyclic())
def test_rows_hold_every_name_one_below_its_deepest_parent(parents: dict[str, list[str]]) -> None:
    rows = dag.layers(parents)
    row_of = {name: index for index, row in enumerate(rows) for name in row}
    assert sorted(row_of) == sorted(parents)
    assert row_of == dag.levels(parents)
    for name, above in parents.items():
        assert row_of[name] == max((row_of[parent] + 1 for parent in above), default=0)


@QUICK
@given(acyclic())
def test_descendants_are_those_that_reach_the_name_upwards(parents: dict[str, list[str]]) -> None:
    above: dict[str, set[str]] = {}
    for name in dag.topological_order(parents):
        above[name] = {ancestor for parent in parents[name] for ancestor in (parent, *above[parent])}
    for name in parents:
        assert dag.descendants(parents, name) == {other for other in parents if name in above[other]}


@QUICK
@given(any_graph())
def test_cycles_are_found_exactly_where_there_are_any(parents: dict[str, list[str]]) -> None:
    cycles = dag.find_cycles(parents)
    for cycle in cycles:
        assert all(
            following in parents[name] for name, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        )
    named = [name for cycle in cycles for name in cycle]
    assert len(named) == len(set(named))
    knots = {name for name in parents if name in reachable(parents, name)}
    # Every knot (names that reach each other) has one of its cycles named.
    for name in knots:
        assert any(other in reachable(parents, name) and name in reachable(parents, other) for other in named)
    if knots:
        with pytest.raises(ValueError, match="cycle"):
            dag.topological_order(parents)
    else:
        assert cycles == []
        dag.topological_order(parents)


def reachable(parents: dict[str, list[str]], name: str) -> set[str]:
    found: set[str] = set()
    todo = list(parents[name])
    while todo:
        above = todo.pop()
        if above not in found:
            found.add(above)
            todo.extend(parents[above])
    return found


def test_a_knot_above_another_is_found_too() -> None:
    cycles = dag.find_cycles({"r1": ["r2"], "r2": ["k1", "r1"], "k1": ["k2"], "k2": ["k1"]})
    assert [set(cycle) for cycle in cycles] == [{"k1", "k2"}, {"r1", "r2"}]


def test_a_diamond() -> None:
    assert dag.topological_order(DIAMOND) == ["a", "b", "c", "d"]
    assert dag.layers(DIAMOND) == [["a"], ["b", "c"], ["d"]]
    assert dag.descendants(DIAMOND, "b", "c") == {"d"}
    assert dag.children_of(DIAMOND)["a"] == ["b", "c"]


def test_children_stand_below_their_parents() -> None:
    rows = dag.layers({"a": [], "b": [], "of_b": ["b"], "of_a": ["a"]})
    assert rows == [["a", "b"], ["of_a", "of_b"]]


def test_a_parent_named_twice_counts_once() -> None:
    assert dag.topological_order({"a": [], "b": ["a", "a"]}) == ["a", "b"]


def test_an_unknown_parent_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'b' depends on 'x'"):
        dag.topological_order({"b": ["x"]})


def test_a_long_cycle_is_written_short() -> None:
    text = dag.cycle_text([f"s{i}" for i in range(5000)])
    assert text.startswith("s0 → s1")
    assert text.endswith("→ s4999 → s0")
    assert "4992 more" in text
    assert dag.cycle_text(["a", "b"]) == "a → b → a"


CHAIN = {f"s{i}": [f"s{i - 1}"] if i else [] for i in range(5000)}
FAN = {"root": [], **{f"s{i}": ["root"] for i in range(10_000)}, "join": [f"s{i}" for i in range(10_000)]}
LADDER = {
    f"s{i}.{k}": [f"s{i - 1}.{p}" for p in range(20)] if i else [] for i in range(30) for k in range(20)
}
RING = {f"s{i}": [f"s{(i + 1) % 5000}"] for i in range(5000)}


@pytest.mark.parametrize("parents", [CHAIN, FAN, LADDER], ids=["chain", "fan", "ladder"])
def test_deep_and_wide_graphs_are_linear(parents: dict[str, list[str]]) -> None:
    started = time.process_time()
    assert len(dag.topological_order(parents)) == len(parents)
    assert sum(map(len, dag.layers(parents))) == len(parents)
    assert dag.find_cycles(parents) == []
    assert len(dag.descendants(parents, next(iter(parents)))) >= len(parents) - 20
    assert time.process_time() - started < 1


def test_a_ring_of_thousands_is_found() -> None:
    assert [len(cycle) for cycle in dag.find_cycles(RING)] == [5000]
