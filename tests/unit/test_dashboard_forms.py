"""Masked values that come back in a form: each goes where it was, or the form is refused."""

from __future__ import annotations

from typing import Any

import pytest

from remand.redact import MASK, redact_json
from remand_app.dashboard.forms import number, parsed, restored
from remand_app.domain.errors import InputInvalid

KEYS = ("password", "token")
ACCOUNTS = [{"user": "a", "password": "one"}, {"user": "b", "password": "two"}]


def shown(value: Any) -> Any:
    return redact_json(value, KEYS)


def test_what_is_around_a_secret_is_edited_and_the_secret_stays() -> None:
    was = {"to": "x", "deep": {"token": {"a": 1}, "n": 1}, "accounts": ACCOUNTS}
    typed = shown(was) | {"to": "y"}
    typed["deep"]["n"] = 2
    typed["accounts"][1]["user"] = "c"

    assert restored(typed, was, KEYS) == {
        "to": "y",
        "deep": {"token": {"a": 1}, "n": 2},
        "accounts": [ACCOUNTS[0], {"user": "c", "password": "two"}],
    }


def test_items_that_change_places_take_their_secrets_along() -> None:
    assert restored(shown(ACCOUNTS)[::-1], ACCOUNTS, KEYS) == ACCOUNTS[::-1]


def test_an_item_that_is_taken_out_leaves_the_others_their_secrets() -> None:
    assert restored(shown(ACCOUNTS)[1:], ACCOUNTS, KEYS) == ACCOUNTS[1:]
    assert restored([{"user": "new"}, *shown(ACCOUNTS)], ACCOUNTS, KEYS) == [{"user": "new"}, *ACCOUNTS]


@pytest.mark.parametrize(
    "typed",
    [
        {"renamed": MASK, "url": "u"},
        {"password": MASK, "url": "u", "second": {"password": MASK}},
        {"password": {"value": MASK}, "url": "u"},
        {"password": MASK, "url": f"https://me:{MASK}@elsewhere/"},
        [MASK],
        MASK,
        # Which of the two secrets would it be?
        {"password": MASK, "url": "u", "accounts": [{"password": MASK}]},
    ],
)
def test_a_mask_that_stands_for_nothing_is_never_taken_for_a_value(typed: Any) -> None:
    was = {
        "password": "hush",
        "url": "https://me:hush@here/",
        "accounts": [{"password": "one"}, {"password": "two"}],
    }
    with pytest.raises(InputInvalid, match="masked"):
        restored(typed, was, KEYS)


def test_a_mask_that_is_part_of_the_input_itself_may_stay() -> None:
    assert restored({"text": MASK, "n": 2}, {"text": MASK, "n": 1}, KEYS) == {"text": MASK, "n": 2}


@pytest.mark.parametrize("text", ["[" * 50_000, "1" * 5_000, "{", "\ud800"])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InputInvalid, match="input"):
        parsed(text, "input")


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "many"])
def test_a_number_is_one(text: str) -> None:
    with pytest.raises(InputInvalid, match="is not a number"):
        number(text, "the priority")
