from __future__ import annotations

import random
import time
from collections import Counter
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from remand import PermanentError
from remand_app.engine.operate import Who, cancel, resolve_step, retry_step
from remand_app.store.claims import Completed
from tests.support.engine import Harness
from tests.support.shapes import fails, shape
from tests.support.threads import together, values

RESET = ConnectionResetError("reset")
SOON = {"policies": {"network": "immediate"}}


def submitted(harness: Harness, graph: dict[str, Any], **top: Any) -> UUID:
    harness.publish(shape("graph", graph, **top))
    return harness.submit("t/graph")


def test_a_join_waits_for_the_branch_that_is_retried(harness: Harness) -> None:
    seen: list[dict[str, Any]] = []
    harness.play(c=fails(RESET, RESET, then="third"), e=lambda ctx: seen.append(dict(ctx.parents)))
    workflow_id = submitted(harness, {"a": (), "b": "a", "c": "a", "d": "a", "e": "bcd"})

    assert harness.run_to_end(workflow_id).state == "complete"

    assert seen == [{"b": "b", "c": "third", "d": "d"}]
    assert harness.step(workflow_id, "e").attempt == 1


def test_no_second_layer_starts_before_the_first_has_ended(harness: Harness) -> None:
    first, second = [f"a{n}" for n in range(5)], [f"b{n}" for n in range(5)]
    graph = {**dict.fromkeys(first, ()), **dict.fromkeys(second, first)}
    log: list[str] = []

    def part(ctx: Any, errors: int) -> str:
        if ctx.attempt <= errors:
            raise RESET
        log.append(ctx.step)
        return str(ctx.step)

    harness.play(**{name: partial(part, errors=n % 2) for n, name in enumerate([*first, *second])})
    workflow_id = submitted(harness, graph)

    assert harness.run_to_end(workflow_id).state == "complete"

    assert sorted(log[:5]) == first
    assert sorted(log[5:]) == second
    assert max(Counter(log).values()) == 1


def test_a_long_chain_runs_without_recursion(harness: Harness) -> None:
    graph: dict[str, Any] = {"s0": ()}
    graph |= {f"s{n}": [f"s{n - 1}"] for n in range(1, 500)}
    ran = harness.play()

    workflow_id = submitted(harness, graph)
    harness.run_until_quiet()

    assert harness.workflow(workflow_id).state == "complete"
    assert ran == list(graph)


def test_thousands_of_branches_run_and_join(harness: Harness) -> None:
    names = [f"f{n}" for n in range(2000)]
    joined: list[int] = []
    harness.play(join=lambda ctx: joined.append(len(ctx.parents)))

    workflow_id = submitted(harness, {"root": (), **{name: ["root"] for name in names}, "join": names})
    harness.run_until_quiet()

    assert harness.workflow(workflow_id).state == "complete"
    assert joined == [2000]


def test_thirty_alternating_layers_run(harness: Harness) -> None:
    graph: dict[str, Any] = {}
    before: list[str] = []
    for layer in range(30):
        names = [f"l{layer}x{n}" for n in range(5 if layer % 2 else 1)]
        graph |= dict.fromkeys(names, before)
        before = names
    ran = harness.play()

    workflow_id = submitted(harness, graph)
    harness.run_until_quiet()

    assert harness.workflow(workflow_id).state == "complete"
    assert Counter(ran) == Counter(list(graph))


@pytest.mark.parametrize("kind", ["chain", "fan"])
def test_making_a_workflow_costs_in_proportion_to_its_steps(harness: Harness, kind: str) -> None:
    def seconds(size: int) -> float:
        names = [f"s{n}" for n in range(size)]
        if kind == "chain":
            graph: dict[str, Any] = {name: names[n - 1 : n] if n else () for n, name in enumerate(names)}
        else:
            graph = {name: names[:1] if n else () for n, name in enumerate(names)}
        harness.publish(shape(f"{kind}{size}", graph))
        harness.submit(f"t/{kind}{size}")
        started = time.perf_counter()
        harness.submit(f"t/{kind}{size}")
        return time.perf_counter() - started

    small, large = seconds(300), seconds(3000)

    assert large < 40 * small + 0.5


def test_random_graphs_run_every_step_once_after_its_parents(harness: Harness) -> None:
    random_graph = random.Random(7)
    for number in range(12):
        names = [f"s{n}" for n in range(random_graph.randint(2, 14))]
        graph = {
            name: random_graph.sample(names[:n], random_graph.randint(0, min(n, 4)))
            for n, name in enumerate(names)
        }
        harness.publish(shape(f"random{number}", graph, retry=SOON))
        broken = set(random_graph.sample(names, len(names) // 3))
        done: list[str] = []

        def part(ctx: Any, broken: set[str] = broken, done: list[str] = done, graph: Any = graph) -> str:
            if ctx.attempt == 1 and ctx.step in broken:
                raise RESET
            assert set(ctx.parents) == set(graph[ctx.step]) <= set(done)
            done.append(ctx.step)
            return str(ctx.step)

        harness.handlers._by_name.clear()
        harness.play(**dict.fromkeys(names, part))
        workflow_id = harness.submit(f"t/random{number}")

        assert harness.run_to_end(workflow_id).state == "complete"
        assert sorted(done) == sorted(names)


@pytest.mark.parametrize(
    ("ends", "join"),
    [
        (("complete", "complete"), "complete"),
        (("complete", "resolved_manually"), "complete"),
        (("resolved_manually", "resolved_manually"), "complete"),
        (("complete", "error"), "pending"),
        (("error", "error"), "pending"),
        (("resolved_manually", "error"), "pending"),
        (("complete", "cancelled"), "cancelled"),
    ],
    ids=str,
)
def test_a_join_is_decided_once_all_its_parents_have_ended(
    harness: Harness, ends: tuple[str, str], join: str
) -> None:
    parts = {
        name: fails(PermanentError("no")) if end in ("error", "cancelled") else "well"
        for name, end in zip("ab", ends, strict=True)
    }
    harness.play(**parts)
    workflow_id = submitted(harness, {"a": (), "b": (), "j": "ab"})
    for name, end in zip("ab", ends, strict=True):
        if end == "resolved_manually":
            resolve_step(harness.engine, workflow_id, name, Who("ann"))
    harness.run_until_quiet()
    if "cancelled" in ends:
        cancel(harness.engine, workflow_id, Who("ann"))

    assert tuple(harness.states(workflow_id).values()) == (*ends, join)
    for name in "ab":
        if harness.states(workflow_id)[name] == "error":
            retry_step(harness.engine, workflow_id, name, Who("ann"))
    harness.run_until_quiet()
    if join != "cancelled":
        assert harness.workflow(workflow_id).state == "complete"
        assert harness.step(workflow_id, "j").attempt == 1


def test_what_is_recovered_elsewhere_runs_only_the_missing_step(harness: Harness) -> None:
    for seed in range(20):
        order = ["x", "y", "z"]
        random.Random(seed).shuffle(order)
        harness.publish(shape(f"three{seed}", {"x": (), "y": (), "z": (), "j": "xyz"}))
        workflow_id = harness.submit(f"t/three{seed}")
        first = harness.new_worker(hostname="dies@test")
        claims = {claim.step: claim for claim in first.queue.claim("steps", 3)}
        for name in order[:2]:
            first.queue.settle([Completed(claims[name], f'"{name}"')], "steps", 0)
        harness.clock.advance(31)
        harness.handlers._by_name.clear()
        ran = harness.play()

        harness.run_until_quiet()

        assert ran == [order[2], "j"]
        assert harness.workflow(workflow_id).state == "complete"


def test_a_step_claimed_twice_by_racing_workers_ends_once(harness: Harness) -> None:
    harness.publish(shape("one", {"a": ()}))
    ids = harness.submit_many("t/one", range(40))
    workers = [harness.new_worker() for _ in range(2)]
    ran = harness.play()

    values(together(*(partial(worker.executor.run, "steps") for worker in workers)))

    assert len(ran) == 40
    assert {harness.workflow(one).state for one in ids} == {"complete"}
