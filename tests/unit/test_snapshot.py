from __future__ import annotations

import json
from typing import Any

from remand_app.domain.snapshot import fit

CUT = "[left out: the snapshot was too large]"
BIG = "x" * 1000
ORDER = [
    "steps.result",
    "steps.checkpoint",
    "attempts.traceback",
    "steps.input",
    "workflow.input",
    "steps.traceback",
    "moves but the last 5",
    "attempts but the last 5",
    "steps but the failed ones",
]


def step(name: str, state: str = "complete", **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "result": None, "checkpoint": None, "input": None, **more}


def snapshot() -> dict[str, Any]:
    """One part of 1 kB for each round, in every place that a round looks at."""
    failure = {"message": "no", "traceback": BIG}
    return {
        "workflow": {"id": "w", "input": BIG},
        "steps": [
            step("a", result=BIG),
            step("b", checkpoint=BIG, input=BIG),
            step("c", "error", failure=failure),
            *(step(f"more{n}") for n in range(30)),
        ],
        "attempts": [{"attempt": n, "failure": failure if n == 0 else None} for n in range(40)],
        "moves": [{"event": "start", "n": n} for n in range(50)],
    }


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


def test_what_fits_is_kept_as_it_is() -> None:
    whole = snapshot()

    assert fit(whole, size(whole)) == {**whole, "left_out": []}


def test_a_byte_too_much_costs_the_results_alone() -> None:
    whole = snapshot()

    fitted = fit(whole, size(whole) - 1)

    assert fitted["left_out"] == ["steps.result"]
    assert [one["result"] for one in fitted["steps"]][:2] == [CUT, None]
    assert {key: fitted[key] for key in ("workflow", "attempts", "moves")} == {
        key: whole[key] for key in ("workflow", "attempts", "moves")
    }


def test_parts_go_in_their_order_and_no_more_than_needed() -> None:
    whole = snapshot()
    seen: list[list[str]] = []
    for limit in range(size(whole), 0, -97):
        left_out = fit(whole, limit)["left_out"]
        if not seen or left_out != seen[-1]:
            seen.append(left_out)

    assert seen == [ORDER[:n] for n in range(len(ORDER) + 1)]


def test_each_limit_is_kept_as_long_as_something_can_go() -> None:
    whole = snapshot()
    least = size({**fit(whole, 1), "left_out": None})

    for limit in range(least, size(whole), 97):
        fitted = fit(whole, limit)
        del fitted["left_out"]
        assert size(fitted) <= limit


def test_what_died_is_never_left_out() -> None:
    fitted = fit(snapshot(), 1)

    assert [one["name"] for one in fitted["steps"]] == ["c"]
    assert fitted["steps"][0]["failure"] == {"message": "no", "traceback": CUT}
    assert [one["n"] for one in fitted["moves"]] == [45, 46, 47, 48, 49]
    assert [one["attempt"] for one in fitted["attempts"]] == [35, 36, 37, 38, 39]
    assert fitted["workflow"] == {"id": "w", "input": CUT}


def test_hundreds_of_failed_steps_are_cut_to_twenty() -> None:
    whole = {**snapshot(), "steps": [step(f"s{n}", "error") for n in range(300)]}

    assert [one["name"] for one in fit(whole, 1)["steps"]] == [f"s{n}" for n in range(20)]


def test_what_was_not_there_is_not_said_to_be_left_out_of_a_row() -> None:
    fitted = fit(snapshot(), 1)

    assert (fitted["steps"][0]["result"], fitted["steps"][0]["input"]) == (None, None)
    assert fitted["attempts"][0]["failure"] is None


def test_size_is_that_of_the_bytes_not_of_the_letters() -> None:
    whole = {**snapshot(), "workflow": {"input": "é" * 1000}}

    assert fit(whole, size(whole) - 500)["left_out"] == ["steps.result"]
    assert fit({**whole, "workflow": {"input": "\ud800"}}, 10**6)["left_out"] == []


def test_the_snapshot_that_was_given_is_not_touched() -> None:
    whole, same = snapshot(), snapshot()

    fit(whole, 1)

    assert whole == same
