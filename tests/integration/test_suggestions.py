"""What may be behind a group of dead letters: each hint coincides, and says from which facts. Source: C8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remand.errors import PermanentError
from remand_app.engine.operate import Who, requeue_letter
from remand_app.engine.suggest import Suggestion, suggestions, suggestions_for
from tests.support.engine import Harness
from tests.support.shapes import shape

ANN = Who("ann")


def declines(when: Callable[[Any], bool]) -> Callable[[Any], Any]:
    def run(ctx: Any) -> Any:
        if when(ctx.input):
            raise PermanentError("declined")
        return "paid"

    return run


def hints(harness: Harness, kind: str) -> list[Suggestion]:
    [group_id] = {row[0] for row in harness.database.call("select id from remand.dead_letter_groups")}
    return [one for one in suggestions(harness.engine, group_id) if one.kind == kind]


def pay(harness: Harness, inputs: list[dict[str, Any]], fails: Callable[[Any], bool]) -> list[Any]:
    harness.publish(shape("pay", {"charge": ()}))
    harness.play(charge=declines(fails))
    made = harness.submit_many("t/pay", inputs)
    harness.run_until_quiet()
    return list(made)


def test_what_all_inputs_have_and_those_that_went_well_have_not(harness: Harness) -> None:
    inputs = [{"country": "ch" if n < 4 else "de", "shop": "one", "n": n} for n in range(10)]
    pay(harness, inputs, lambda told: told["country"] == "ch")

    [found] = hints(harness, "input")

    assert found.facts == {"field": "country", "value": "ch", "letters": 4, "well": 6, "alike": 0}
    assert "country = 'ch'" in found.text


def test_a_masked_field_is_no_hint(harness: Harness) -> None:
    inputs = [{"password": f"hunter-{n}", "n": n} for n in range(10)]
    pay(harness, inputs, lambda told: told["n"] < 4)

    assert hints(harness, "input") == []


def test_a_masked_text_is_no_hint(harness: Harness) -> None:
    inputs = [{"at": f"https://ann:hunter-{n}@bank.example/", "n": n} for n in range(10)]
    pay(harness, inputs, lambda told: told["n"] < 4)

    assert hints(harness, "input") == []


def test_one_and_true_are_two_values(harness: Harness) -> None:
    inputs = [{"flag": True if n < 4 else 1, "n": n} for n in range(10)]
    pay(harness, inputs, lambda told: told["flag"] is True)

    [found] = hints(harness, "input")

    assert (found.facts["value"], found.facts["alike"]) == (True, 0)


@pytest.mark.parametrize(("known", "told"), [(4, 1), (3, 0)])
def test_one_host_is_a_hint_where_every_letter_comes_from_it(harness: Harness, known: int, told: int) -> None:
    pay(harness, [{"n": n} for n in range(4)], lambda _: True)
    harness.new_worker("steps", hostname="celery@elsewhere")
    harness.database.call(
        "update remand.dead_letters set worker = 'unknown' where id in"
        " (select id from remand.dead_letters order by id limit %s)",
        (4 - known,),
    )

    found = hints(harness, "host")

    assert len(found) == told
    assert all(one.facts["others"] == ["elsewhere"] for one in found)


def test_a_deploy_shortly_before_is_a_hint(harness: Harness) -> None:
    pay(harness, [{"n": 1}], lambda _: True)
    begin = (
        "update remand.workers set code_version = %s, started_at = now() - make_interval(mins => %s)"
        " where id = %s"
    )
    other = harness.new_worker("steps", hostname="celery@elsewhere")
    harness.database.call(begin, ("1.0", 600, harness.worker.id))
    harness.database.call(begin, ("1.1", 5, other.id))
    harness.database.call("update remand.dead_letter_groups set first_at = now()")

    [found] = hints(harness, "deploy")

    assert found.facts["version"] == "1.1"
    assert "5 min before the first letter" in found.text


def test_how_requeues_ended_is_a_hint(harness: Harness) -> None:
    made = pay(harness, [{"n": n} for n in range(4)], lambda _: True)
    letters = [harness.open_letter(one) for one in made]
    harness.play(charge=declines(lambda told: told["n"] == 0))
    for letter in letters:
        requeue_letter(harness.engine, letter.id, ANN)
    harness.run_until_quiet()

    [found] = hints(harness, "requeued_before")

    assert found.facts == {"requeued": 4, "succeeded": 3}
    assert found in suggestions_for(harness.engine, letters[0])
