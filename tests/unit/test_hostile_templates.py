"""Templates, schemas and patterns made to take time: what is too much is refused before the work is done."""

from __future__ import annotations

import contextlib
import json
import re
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remand_app.domain.errors import InputInvalid, TemplateInvalid
from remand_app.domain.json_schema import TooMuchWork, errors_of
from remand_app.domain.patterns import PatternInvalid, compile_pattern, published_pattern
from remand_app.domain.template import from_definition, load_text, to_definition, validate_input
from remand_app.domain.template.source import MAX_PROBLEMS

HEAD = "namespace: n\nname: w\nversion: '1'\n"
ONE = "steps: [{name: a, handler: h}]\n"
CPU_SECONDS = 20.0
"""Far above what any of these takes, far below what they took."""


def rules(count: int, prefix: str) -> list[dict[str, Any]]:
    return [
        {"name": f"{prefix}{number}", "category": "network", "codes": [f"{prefix}{number}"]}
        for number in range(count)
    ]


def with_rules(steps: int, each: int, shared: int) -> str:
    own = [{"name": f"s{n}", "handler": "h", "rules": rules(each, f"s{n}x")} for n in range(steps)]
    made = {"namespace": "n", "name": "w", "version": "1", "rules": rules(shared, "t"), "steps": own}
    return json.dumps(made)


def with_schema(schema: Any) -> str:
    steps = [{"name": "a", "handler": "h"}]
    return json.dumps({"namespace": "n", "name": "w", "version": "1", "input_schema": schema, "steps": steps})


def bomb(depth: int) -> str:
    lines = ["a: &l0 [x, x]"] + [f"b{n}: &l{n} [*l{n - 1}, *l{n - 1}]" for n in range(1, depth)]
    return HEAD + ONE + "\n".join(lines)


HOSTILE = {
    "unknown keys": HEAD + ONE + "".join(f"k{n}: 1\n" for n in range(6_000)),
    "duplicate keys": HEAD + ONE + "k: 1\n" * 6_000,
    "documents": "---\nx\n" * 6_000,
    "empty documents": "---\n" * 10_000,
    "scalars": "[" + "," * 250_000 + "]",
    "nested": "[" * 250_000,
    "aliases": bomb(40),
    "merge keys": "<<: {}\n" * 6_000,
    "unknown parents": HEAD + "steps: [{name: a, handler: h, depends_on: [" + "b," * 10_000 + "]}]\n",
    "rules of steps": with_rules(10, 20, 300),
    "rules of one step": with_rules(1, 300, 300),
    "rules beyond all": with_rules(3, 999, 1000),
    "schema": with_schema({"properties": {f"p{n}": {"type": "string"} for n in range(6_000)}}),
    "bad schema": with_schema({"properties": {f"p{n}": {"type": "nope"} for n in range(600)}}),
    "required twice": with_schema({"required": ["a", 1] * 1_000}),
    "patterns": with_schema({"patternProperties": {f"(a{n}|b": {} for n in range(600)}}),
    "long pattern": with_schema({"pattern": "(a|b)" * 80_000}),
    "references": with_schema({"$ref": "#/" + "a/" * 200_000}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_text_that_is_made_to_take_time_is_answered_soon(name: str) -> None:
    began = time.process_time()
    problems = []
    try:
        load_text(HOSTILE[name])
    except TemplateInvalid as error:
        problems = list(error.problems)
    assert len(problems) <= MAX_PROBLEMS
    assert time.process_time() - began < CPU_SECONDS


def test_of_many_problems_a_hundred_are_told_and_the_last_says_so() -> None:
    with pytest.raises(TemplateInvalid) as refused:
        load_text(HOSTILE["unknown keys"])
    assert len(refused.value.problems) == MAX_PROBLEMS
    assert refused.value.problems[-1].code == "and_more"


@pytest.mark.parametrize("name", ["unknown keys", "scalars", "schema", "rules of steps"])
def test_reading_ends_when_nobody_waits_for_the_answer(name: str) -> None:
    asked = 0

    def has_gone() -> bool:
        nonlocal asked
        asked += 1
        return True

    with pytest.raises(TemplateInvalid):
        load_text(HOSTILE[name], has_gone=has_gone)
    assert asked <= 1


def test_large_but_honest_template_is_read() -> None:
    steps = "".join(f"  - {{name: s{n}, handler: h, queue: q, depends_on: []}}\n" for n in range(4_000))
    assert len(load_text(f"{HEAD}steps:\n{steps}").steps) == 4_000


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 40 + "!"),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 40 + "!": 1}),
        ({"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False}, {"a" * 40 + "!": 1}),
        ({"uniqueItems": True}, [{"a": n} for n in range(5_000)]),
        ({"unevaluatedProperties": {"type": "integer"}}, {str(n): n for n in range(5_000)}),
        ({"unevaluatedItems": {"type": "integer"}}, list(range(5_000))),
        ({"items": {"enum": [{"a": n} for n in range(5_000)]}}, [{"a": n} for n in range(6_000)]),
        (
            {
                "$defs": {"l0": {"minimum": 0}}
                | {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n - 1}"}] * 2} for n in range(1, 24)},
                "$ref": "#/$defs/l23",
            },
            1,
        ),
    ],
    ids=["pattern", "names", "unevaluated names", "unique", "properties", "items", "enum", "references"],
)
def test_value_cannot_be_made_to_take_time_either(schema: Any, value: Any) -> None:
    began = time.process_time()
    with contextlib.suppress(TooMuchWork):
        errors_of(schema, value)
    assert time.process_time() - began < CPU_SECONDS


def test_what_takes_too_long_is_refused_in_words() -> None:
    refers = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n - 1}"}] * 2} for n in range(1, 24)}
    template = load_text(with_schema({"$defs": {"l0": {}} | refers, "$ref": "#/$defs/l23"}))
    with pytest.raises(InputInvalid, match="takes too long"):
        validate_input(template, 1, 1000)


A: dict[str, Any] = {"a": {}}
B: dict[str, Any] = {"b": {}}
SCHEMAS: tuple[Any, ...] = (
    {"uniqueItems": True},
    {"pattern": r"^\w+$"},
    {"pattern": r"\d{2}"},
    {"properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
    {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
    {"anyOf": [{"required": ["a"], "properties": A}, {"properties": B}], "unevaluatedProperties": False},
    {
        "if": {"required": ["a"]}, "then": {"properties": A}, "else": {"properties": B},
        "unevaluatedProperties": False,
    },
    {"$ref": "#/$defs/x", "$defs": {"x": {"properties": A}}, "unevaluatedProperties": {"type": "integer"}},
    {"patternProperties": {"^a": {}}, "unevaluatedProperties": False},
    {"dependentSchemas": {"a": {"properties": {"a": {}, "b": {}}}}, "unevaluatedProperties": False},
    {"prefixItems": [{"type": "integer"}], "unevaluatedItems": False},
    {"contains": {"type": "integer"}, "unevaluatedItems": False},
    {"allOf": [{"prefixItems": [{}]}], "unevaluatedItems": {"type": "string"}},
    {"items": {"type": "integer"}, "unevaluatedItems": False},
)  # fmt: skip
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, -0.0, "", "a", "ab", "ä1", "12", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "ab", "c"]), inner)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@given(value=VALUES)
@settings(max_examples=30)
def test_verdict_is_that_of_jsonschema(schema: Any, value: Any) -> None:
    told = next(iter(jsonschema.Draft202012Validator(schema).iter_errors(value)), None)
    assert (not errors_of(schema, value)) == (told is None)


@pytest.mark.parametrize(
    "pattern",
    [r"^\w+$", r"\d", r"\s", r"[\w-]+", r"[^\d]", r"\S", r"\W", r"\D", r"^[\s\S]*\Z", r"\u0041",
     r"[]a]", r"[^]a]", r"\\d"],
)  # fmt: skip
@given(text=st.text(st.characters(max_codepoint=0x52F) | st.sampled_from("\u2003\u3042\u0661²"), max_size=8))
@settings(max_examples=30)
def test_pattern_finds_what_pythons_finds(pattern: str, text: str) -> None:
    if text.endswith("\n") and pattern.endswith("$"):
        return
    assert compile_pattern(pattern).search(text) == (re.search(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        (r"(?=a)b", "look-around"),
        (r"(?<!a)b", "look-around"),
        (r"(a)\1", "backreferences"),
        (r"(?P<x>a)(?P=x)", "backreferences"),
        (r"a++", "atomic groups"),
        (r"(", "not a regular expression"),
        (r"a{1001}", "not a regular expression"),
        ("a" * 3000, "the limit is 2,000"),
        ("\ud800", "not a regular expression"),
    ],
)
def test_pattern_that_cannot_run_in_linear_time_is_refused_in_words(pattern: str, says: str) -> None:
    with pytest.raises(PatternInvalid, match=says):
        compile_pattern(pattern)


def test_pattern_that_was_published_before_goes_on() -> None:
    assert published_pattern(r"^(?!x)a").search("ab")
    schema = {"pattern": r"^(?!x)a"}
    with pytest.raises(TemplateInvalid, match="look-around"):
        load_text(with_schema(schema))
    stored = from_definition(json.loads(with_schema(schema)))
    assert validate_input(stored, "ab", 100)
    with pytest.raises(InputInvalid):
        validate_input(stored, "xa", 100)
    assert from_definition(to_definition(stored)) == stored


@pytest.mark.parametrize("where", ["rules", "steps"])
def test_rule_of_a_template_runs_in_linear_time(where: str) -> None:
    rule = {"name": "slow", "category": "network", "message": "^(a+)+$"}
    step: dict[str, Any] = {"name": "a", "handler": "h"}
    made: dict[str, Any] = {"namespace": "n", "name": "w", "version": "1", "steps": [step]}
    (made if where == "rules" else step)["rules"] = [rule]
    [(_, [kept])] = load_text(json.dumps(made)).rule_layers(load_text(json.dumps(made)).steps[0])
    began = time.process_time()
    assert kept.conditions.pattern is not None
    assert not kept.conditions.pattern.search("A" * 50 + "!")
    assert time.process_time() - began < CPU_SECONDS
