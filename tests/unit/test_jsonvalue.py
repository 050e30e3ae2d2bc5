from __future__ import annotations

import datetime as dt
import enum
import json
import pickle
import sys
from collections import OrderedDict
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remand_app.domain.errors import JsonInvalid, JsonTooLarge
from remand_app.domain.jsonvalue import MAX_DEPTH, canonical_json, encode, first_problem, path_text

# A draw takes as long as the machine is busy: no deadline.
QUICK = settings(max_examples=25, deadline=None)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)
)


def enc(value: object, max_bytes: int = 1 << 20) -> str:
    return encode(value, what="result", max_bytes=max_bytes)


@QUICK
@given(VALUES)
def test_what_is_json_comes_back_as_it_was(value: Any) -> None:
    assert json.loads(enc(value)) == value
    assert first_problem(value) is None


@QUICK
@given(VALUES)
def test_the_canonical_text_does_not_depend_on_the_order_of_keys(value: Any) -> None:
    def turned(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: turned(part[key]) for key in reversed(part)}
        return [turned(item) for item in part] if isinstance(part, list) else part

    assert canonical_json(turned(value)) == canonical_json(value)


class Colour(enum.StrEnum):
    RED = "red"


class Plain(enum.Enum):
    ONE = 1


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ({"items": [{}, {"price": Decimal("1.10")}]}, "$.items[1].price", "Decimal"),
        ({"at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}, "$.at", "isoformat"),
        ({"at": dt.date(2026, 1, 1)}, "$.at", "isoformat"),
        ({"for": dt.timedelta(1)}, "$.for", "total_seconds"),
        ({"a": b"x"}, "$.a", "base64"),
        ({"a": {1, 2}}, "$.a", "sorted"),
        ({"id": UUID(int=1)}, "$.id", "str()"),
        ({"a": Plain.ONE}, "$.a", ".value"),
        ([float("nan")], "$[0]", "nan"),
        ([1, float("inf")], "$[1]", "inf"),
        (float("-inf"), "$", "-inf"),
        ({"a": {3: "x"}}, "$.a", "key 3 of type int"),
        ({None: 1}, "$", "NoneType"),
        ({"a": "x\0y"}, "$.a", "NUL"),
        ({"a": {"k\0": 1}}, "$.a", "NUL"),
        ("\ud800", "$", "U+D800"),
        ({"a": ["\udfff"]}, "$.a[0]", "U+DFFF"),
        ({"\ud800": 1}, "$", "surrogate"),
        ({"a b": object()}, '$["a b"]', "object"),
        ({"a": ValueError("no")}, "$.a", "raise it"),
        ([10**5000], "$[0]", "digits"),
    ],
)
def test_a_refusal_names_the_path_and_the_way_out(value: object, path: str, words: str) -> None:
    with pytest.raises(JsonInvalid) as caught:
        enc(value)
    assert caught.value.path == path
    assert words in caught.value.problem
    assert "result" in str(caught.value)


def test_tuples_become_lists_and_relatives_of_text_and_dict_are_taken() -> None:
    assert (
        enc({"a": (1, (2,)), "c": Colour.RED, "o": OrderedDict(z=1, a=2)})
        == '{"a":[1,[2]],"c":"red","o":{"z":1,"a":2}}'
    )


def test_a_backslash_u_written_by_hand_is_not_nul() -> None:
    assert json.loads(enc({"a": "\\u0000"})) == {"a": "\\u0000"}


def nested(depth: int, kind: type = list) -> Any:
    value: Any = [] if kind is list else {}
    for _ in range(depth - 1):
        value = [value] if kind is list else {"a": value}
    return value


@pytest.mark.parametrize("kind", [list, dict])
def test_nesting_has_a_limit_that_does_not_depend_on_the_stack(kind: type) -> None:
    assert enc(nested(MAX_DEPTH, kind))
    for depth in (MAX_DEPTH + 1, 10_000):
        with pytest.raises(JsonInvalid, match="nested deeper than 200"):
            enc(nested(depth, kind))


def test_a_leaf_below_the_deepest_container_is_taken() -> None:
    value: Any = Colour.RED
    for _ in range(MAX_DEPTH):
        value = [value]
    assert "red" in enc(value)


def test_a_cycle_is_named_where_it_closes() -> None:
    loop: dict[str, Any] = {"a": [1, {}]}
    loop["a"][1]["back"] = loop
    with pytest.raises(JsonInvalid, match="cycle") as caught:
        enc(loop)
    assert caught.value.path == "$.a[1].back"


def test_the_same_value_in_two_places_is_not_a_cycle() -> None:
    shared = {"x": [1]}
    assert enc([shared, shared, {"again": shared}]) == '[{"x":[1]},{"x":[1]},{"again":{"x":[1]}}]'


def test_lists_of_shared_lists_do_not_unfold_without_end() -> None:
    value: Any = [1] * 10
    for _ in range(30):
        value = [value] * 10
    with pytest.raises(JsonTooLarge):
        enc(value, max_bytes=10_000)


@QUICK
@given(TEXT)
def test_the_limit_counts_bytes_of_utf8(text: str) -> None:
    size = len(json.dumps(text, ensure_ascii=False).encode())
    assert enc(text, max_bytes=size)
    with pytest.raises(JsonTooLarge, match="limit"):
        enc(text, max_bytes=size - 1)


def test_equal_numbers_have_one_canonical_text() -> None:
    assert canonical_json({"b": 1.0, "a": -0.0}) == canonical_json({"a": 0, "b": 1}) == '{"a":0,"b":1}'
    assert canonical_json(1.5) == "1.5"
    assert canonical_json(True) != canonical_json(1)


def test_a_long_path_is_cut() -> None:
    assert len(path_text(("a",) * 5000)) < 250


def test_a_refusal_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(JsonInvalid("$.a", "is bad", what="result")))
    assert (error.path, error.problem, str(error)) == ("$.a", "is bad", "result at $.a: is bad")


def test_the_recursion_limit_of_a_deep_caller_is_not_hit() -> None:
    def deep(frames: int) -> str:
        return enc(nested(MAX_DEPTH)) if frames == 0 else deep(frames - 1)

    assert deep(sys.getrecursionlimit() // 2)
