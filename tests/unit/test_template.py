from __future__ import annotations

import json
import pickle
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remand_app.domain.errors import IdentityInvalid, InputInvalid, InputTooLarge, Problem, TemplateInvalid
from remand_app.domain.retry import CATEGORIES, DEFAULT_RETRY, POLICIES
from remand_app.domain.template import (
    RetryOverrides,
    Template,
    content_hash,
    from_definition,
    identity_key,
    load_file,
    load_paths,
    load_text,
    resolve_retry,
    to_definition,
    validate_input,
)

# A draw takes as long as the machine is busy: no deadline.
QUICK = settings(max_examples=25, deadline=None)

HEAD = "namespace: shop\nname: orders\nversion: '1'\n"
STEPS = "steps:\n  - {name: a, handler: h.a}\n"
FULL = """
namespace: shop
name: orders
version: "1.10"
description: Take an order.
input_schema:
  type: object
  required: [id]
  properties: {id: {type: integer}, items: {type: array, items: {$ref: "#/$defs/item"}}}
  $defs: {item: {type: object, properties: {price: {type: number, minimum: 0}}}}
identity: strict
on_failure: fail_fast
priority: 7
retry: {max_attempts: 5, policies: {resource: exponential}}
steps:
  - name: check
    handler: shop.check
  - name: charge
    handler: shop.charge
    depends_on: [check]
    queue: payments
    priority: 9
    timeout_seconds: 30
    commit: each
    retry: {max_attempts: 2, jitter: 0, exponential: {base_seconds: 1.5}}
"""


def problems(text: str) -> list[Problem]:
    with pytest.raises(TemplateInvalid) as caught:
        load_text(text, "t.yaml")
    return list(caught.value.problems)


def codes(text: str) -> set[str]:
    return {problem.code for problem in problems(text)}


def one(text: str) -> str:
    found = problems(text)
    assert len(found) == 1, found
    return str(found[0])


def test_a_full_template() -> None:
    template = load_text(FULL)
    assert template.ref == "shop/orders:1.10"
    assert template.steps[0].queue == "steps"
    assert template.steps[0].priority is None
    assert template.steps[1].depends_on == ("check",)
    assert template.steps[1].timeout_seconds == 30
    spec = resolve_retry(template.retry, template.steps[1].retry)
    assert (spec.max_attempts, spec.jitter, spec.lost_attempts) == (2, 0, 3)
    assert (spec.exponential.base_seconds, spec.exponential.factor) == (1.5, 2)
    assert spec.policies == {"resource": "exponential"}


def test_every_problem_comes_at_once_with_its_line() -> None:
    text = textwrap.dedent("""\
        namespace: shop
        name: -orders
        version: 1.10
        identiy: strict
        identity: strct
        retry: {max_attempts: 0, policies: {netwrk: linear, network: lineer}}
        priority: 11
        steps:
          - name: a
            handler: h.a
            depends_on: [chrge, a]
            retry: {exponential: {factr: 2}}
          - name: charge
            handler: h b
            queue: retry.linear
            timeout_seconds: 0
          - name: charge
            depends_on: b
          - {name: e, handler: x, depends_on: [f]}
          - {name: f, handler: x, depends_on: [e]}
    """)
    said = [(problem.line, problem.path, problem.code) for problem in problems(text)]
    assert said == [
        (2, "name", "bad_name"),
        (3, "version", "wrong_type"),
        (4, "identiy", "unknown_key"),
        (5, "identity", "unknown_value"),
        (6, "retry.max_attempts", "out_of_range"),
        (6, "retry.policies.netwrk", "unknown_value"),
        (6, "retry.policies.network", "unknown_value"),
        (7, "priority", "out_of_range"),
        (11, "steps[0].depends_on[0]", "unknown_dependency"),
        (11, "steps[0].depends_on[1]", "self_dependency"),
        (12, "steps[0].retry.exponential.factr", "unknown_key"),
        (14, "steps[1].handler", "bad_name"),
        (15, "steps[1].queue", "reserved_queue"),
        (16, "steps[1].timeout_seconds", "out_of_range"),
        (17, "steps[2].name", "duplicate_step"),
        (17, "steps[2].handler", "missing_key"),
        (18, "steps[2].depends_on", "wrong_type"),
        (19, "steps[3].depends_on", "cycle"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            HEAD + STEPS + "identiy: strict\n",
            "t.yaml:6: identiy: is not a known key; did you mean 'identity'?",
        ),
        (HEAD + "steps:\n  - {name: a, handler: h, depend_on: []}\n", "did you mean 'depends_on'?"),
        (
            HEAD + "steps:\n  - {name: charge, handler: h}\n  - {name: b, handler: h, depends_on: [chrge]}\n",
            "'charge'?",
        ),
        (HEAD + STEPS + "retry: {max_attempts: 0}\n", "counts all executions, the first included"),
        (HEAD + STEPS + "retry: {policies: {network: lineer}}\n", "did you mean 'linear'?"),
        (HEAD + STEPS + "retry: {max_attempts: true}\n", "must be a whole number, not true"),
        (HEAD + STEPS + "retry: {max_attempts: '3'}\n", "must be a whole number, not the text '3'"),
        (HEAD + STEPS + "retry: {max_attempts: 2.5}\n", "must be a whole number, not 2.5"),
        (HEAD + STEPS + "retry: {jitter: .nan}\n", "not a number that JSON has"),
        (HEAD + STEPS + "retry: {jitter: 1.5}\n", "one of none, full, equal"),
        (HEAD + STEPS + "retry: {retryable: connections}\n", "true, false or connection_only"),
        (HEAD + STEPS + "retry: {jitter: '0.5'}\n", "one of none, full, equal"),
        (HEAD + STEPS + "retry: {retry_for_seconds: 0}\n", "must be more than 0"),
        (HEAD + STEPS + "retry:\n  policies:\n    network: fibonaci\n", "t.yaml:8:"),
        (HEAD + STEPS + "retry: {policies: {network: fibonaci}}\n", "did you mean 'fibonacci'?"),
        (HEAD + STEPS + "retry: {fibonacci: {bas_seconds: 1}}\n", "did you mean 'base_seconds'?"),
        (HEAD + STEPS + "retry:\n", "is empty; it must be a mapping"),
        (HEAD + STEPS + "priority: high\n", "must be a whole number, not the text 'high'"),
        (
            HEAD.replace("'1'", "1.10") + STEPS,
            't.yaml:3: version: 1.10 is a number in YAML; quote it: "1.10"',
        ),
        (HEAD.replace("'1'", "2026-01-01") + STEPS, 'is a date in YAML; quote it: "2026-01-01"'),
        (HEAD.replace("orders", "no") + STEPS, 'no is a truth value in YAML; quote it: "no"'),
        (HEAD.replace("orders", "x" * 64) + STEPS, "at most 63"),
        (HEAD.replace("'1'", f"'{'1' * 33}'") + STEPS, "at most 32"),
        (HEAD.replace("orders", '"a\\0"') + STEPS, "NUL"),
        (HEAD + "steps: []\n", "at least one step"),
        (HEAD + "steps:\n  - {name: 1, handler: h}\n", "t.yaml:5: steps[0].name: 1 is a number"),
        (HEAD + "steps: {a: 1}\n", "must be a list, not a mapping"),
        (HEAD + STEPS + "name: again\n", "t.yaml:6: name: is given twice; first on line 2"),
        (HEAD + STEPS + "description: !!python/object:os.system {}\n", "YAML tag"),
        (
            HEAD + "steps:\n  - {name: a, handler: h}\n  - {name: a, handler: h}\n",
            "is taken; first on line 5",
        ),
        (HEAD + "steps:\n  - {name: a, handler: h, queue: Remand.x}\n", "is reserved"),
        (HEAD + STEPS + "input_schema: {type: objekt}\n", "is not JSON Schema"),
        (HEAD + STEPS + "input_schema: {$ref: 'http://localhost/x'}\n", "points outside"),
        (HEAD + STEPS + "input_schema: {$ref: '#/$defs/x'}\n", "points to nothing"),
        (HEAD + STEPS + "input_schema: {properties: {a: {pattern: '['}}}\n", "not a regular expression"),
        (HEAD + STEPS + "input_schema: {$schema: 'http://json-schema.org/draft-07/schema#'}\n", "2020-12"),
        (HEAD + STEPS + "---\n" + HEAD + STEPS, "t.yaml:7: holds 2 templates"),
        ("a: [", "t.yaml:2: is not YAML"),
        ("a: \x01", "YAML forbids"),
        ("[" * 5000, "is not YAML"),
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("- a\n", "a template is a mapping"),
    ],
)
def test_a_problem_says_where_and_what_to_do(text: str, words: str) -> None:
    found = [str(problem) for problem in problems(text)]
    assert len(found) == 1, found
    assert found[0].startswith("t.yaml")
    assert words in found[0]


def test_a_cycle_is_named() -> None:
    steps = "".join(f"  - {{name: {a}, handler: h, depends_on: [{b}]}}\n" for a, b in ("ab", "bc", "ca"))
    assert "a → b → c → a" in one(HEAD + "steps:\n" + steps)


def test_an_alias_bomb_and_an_endless_alias_are_stopped() -> None:
    rows = [
        f"{name}: &{name} [{', '.join([f'*{above}'] * 9)}]"
        for above, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    assert "yaml_aliases" in codes("\n".join(["a: &a [x, x, x, x, x, x, x, x, x]", *rows]))
    assert "yaml_nesting" in codes("a: &a [*a]\n")


def test_an_honest_alias_is_taken() -> None:
    steps = "  - {name: a, handler: h, retry: &r {max_attempts: 2}}\n  - {name: b, handler: h, retry: *r}\n"
    text = HEAD + "steps:\n" + steps
    assert [step.retry.max_attempts for step in load_text(text).steps] == [2, 2]


@pytest.mark.parametrize(("count", "shape"), [(5000, "chain"), (10_000, "fan")])
def test_deep_and_wide_definitions(count: int, shape: str) -> None:
    parent = (lambda i: f"s{i - 1}") if shape == "chain" else (lambda i: "s0")
    steps = [{"name": f"s{i}", "handler": "h", "depends_on": [parent(i)] if i else []} for i in range(count)]
    definition = {"namespace": "n", "name": "w", "version": "1", "steps": steps}
    assert len(from_definition(definition).steps) == count


def test_a_cycle_of_thousands_is_named() -> None:
    steps = [{"name": f"s{i}", "handler": "h", "depends_on": [f"s{(i + 1) % 3000}"]} for i in range(3000)]
    with pytest.raises(TemplateInvalid, match=r"wait for each other: s0 → s1 .* more .* → s2999 → s0"):
        load_text(json.dumps({"namespace": "n", "name": "w", "version": "1", "steps": steps}))


def test_more_than_ten_thousand_steps_are_refused() -> None:
    steps = [{"name": f"s{i}", "handler": "h"} for i in range(10_001)]
    with pytest.raises(TemplateInvalid, match=re.escape("more than 10,000 steps")):
        from_definition({"namespace": "n", "name": "w", "version": "1", "steps": steps})


def test_a_definition_holds_only_what_was_set_and_comes_back() -> None:
    template = load_text(FULL)
    definition = json.loads(json.dumps(to_definition(template)))
    assert "depends_on" not in definition["steps"][0]
    assert definition["steps"][1]["retry"] == {
        "max_attempts": 2,
        "jitter": 0,
        "exponential": {"base_seconds": 1.5},
    }
    assert from_definition(definition) == template
    assert content_hash(from_definition(definition)) == content_hash(template)


def test_nulls_of_the_input_schema_are_kept() -> None:
    template = load_text(HEAD + STEPS + "input_schema: {enum: [null, 1], default: null}\n")
    assert to_definition(template)["input_schema"] == {"enum": [None, 1], "default": None}


def test_the_hash_follows_the_content_not_the_layout() -> None:
    same = 'steps: [{handler: h.a, name: a}]  # the same\nversion: "1"\nname: orders\nnamespace: shop\n'
    assert content_hash(load_text(same)) == content_hash(load_text(HEAD + STEPS))
    assert content_hash(load_text(HEAD + STEPS + "priority: 6\n")) != content_hash(load_text(HEAD + STEPS))


def test_a_stored_definition_is_checked_like_a_file() -> None:
    with pytest.raises(TemplateInvalid, match="did you mean 'handler'"):
        from_definition(
            {"namespace": "n", "name": "w", "version": "1", "steps": [{"name": "a", "handlr": "h"}]}
        )


@QUICK
@given(
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=3),
    st.none() | st.integers(0, 9),
    st.dictionaries(st.sampled_from(CATEGORIES), st.sampled_from(POLICIES)),
    st.none() | st.floats(0, 1) | st.sampled_from(["none", "full", "equal"]),
)
def test_definitions_round_trip(
    names: list[str], priority: int | None, policies: dict[str, str], jitter: Any
) -> None:
    unique = list(dict.fromkeys(names)) or ["a"]
    steps = [
        {"name": name, "handler": "h", "depends_on": unique[:place]} for place, name in enumerate(unique)
    ]
    retry = {"policies": policies, **({} if jitter is None else {"jitter": jitter})}
    definition = {"namespace": "n", "name": "w", "version": "1", "steps": steps, "retry": retry}
    if priority is not None:
        definition["priority"] = priority
    assert to_definition(from_definition(definition)) == definition


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text(HEAD + STEPS + "---\n" + HEAD.replace("orders", "refunds") + STEPS)
    (tmp_path / "deep" / "b.yml").write_text("\ufeff" + HEAD.replace("'1'", "'2'") + STEPS)
    (tmp_path / ".hidden.yaml").write_text("nonsense: [")
    (tmp_path / "notes.txt").write_text("not a template")
    refs = [template.ref for template in load_paths([tmp_path, tmp_path / "a.yaml"])]
    assert refs == ["shop/orders:1", "shop/refunds:1", "shop/orders:2"]
    assert [template.name for template in load_file(tmp_path / "a.yaml")] == ["orders", "refunds"]


def test_the_problems_of_all_files_come_together(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(HEAD + STEPS)
    (tmp_path / "b.yaml").write_text(HEAD + STEPS)
    (tmp_path / "c.yaml").write_bytes(b"a: 1\nb: \xff\n")
    (tmp_path / "d.yaml").write_text("x: 1\n---\n" + HEAD + "steps: []\n")
    with pytest.raises(TemplateInvalid) as caught:
        load_paths([tmp_path, tmp_path / "gone.yaml"])
    found = {(Path(str(problem.file)).name, problem.line, problem.code) for problem in caught.value.problems}
    assert found >= {
        ("b.yaml", 1, "duplicate_template"),
        ("c.yaml", 2, "file_encoding"),
        ("d.yaml", 1, "missing_key"),
        ("d.yaml", 6, "no_steps"),
        ("gone.yaml", None, "file_missing"),
    }
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_overrides_are_laid_number_by_number_the_later_wins() -> None:
    first = RetryOverrides.model_validate(
        {"max_attempts": 9, "linear": {"step_seconds": 1}, "policies": {"network": "linear"}}
    )
    second = RetryOverrides.model_validate({"linear": {"cap_seconds": 5}, "policies": {"resource": "never"}})
    spec = resolve_retry(first, second)
    assert spec.max_attempts == 9
    assert (spec.linear.step_seconds, spec.linear.cap_seconds) == (1, 5)
    assert spec.policies == {"network": "linear", "resource": "never"}
    assert resolve_retry() == DEFAULT_RETRY == resolve_retry(RetryOverrides())


# --- one submit ---


def test_good_input_comes_back_as_text() -> None:
    assert (
        validate_input(load_text(FULL), {"id": 1, "items": ({"price": 2.5},)}, 1000)
        == '{"id":1,"items":[{"price":2.5}]}'
    )
    assert validate_input(load_text(HEAD + STEPS), None, 1000) == "null"


def test_bad_input_is_told_in_full_and_without_its_values() -> None:
    with pytest.raises(InputInvalid) as caught:
        validate_input(load_text(FULL), {"id": "s3cret", "items": [{}, {"price": -17.25}]}, 1000)
    assert caught.value.details["problems"] == [
        {"path": "$.id", "message": "must be of type integer, not string"},
        {"path": "$.items[1].price", "message": "does not meet minimum: 0"},
    ]
    assert "s3cret" not in str(caught.value)
    assert "17.25" not in str(caught.value)


def test_input_that_is_no_json_or_too_large() -> None:
    template = load_text(HEAD + STEPS)
    with pytest.raises(InputInvalid, match=re.escape("input at $.at[0]")):
        validate_input(template, {"at": [b""]}, 1000)
    with pytest.raises(InputTooLarge, match="limit is 10 bytes"):
        validate_input(template, "x" * 20, 10)


@pytest.mark.parametrize("schema", ["{$ref: '#'}", "{$ref: '#nowhere'}"])
def test_a_schema_that_cannot_be_followed_is_said_so(schema: str) -> None:
    with pytest.raises(InputInvalid, match="input_schema of shop/orders:1"):
        validate_input(load_text(HEAD + STEPS + f"input_schema: {schema}\n"), {}, 1000)


def test_a_schema_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[object] = []
    monkeypatch.setattr("urllib.request.urlopen", fetched.append)
    template = load_text(HEAD + STEPS).model_copy(update={"input_schema": {"$ref": "http://127.0.0.1:1/s"}})
    with pytest.raises(InputInvalid, match="cannot be used"):
        validate_input(template, {}, 1000)
    assert fetched == []


def with_identity(identity: str, version: str = "1") -> Template:
    return load_text(HEAD.replace("'1'", f"'{version}'") + STEPS + f"identity: {identity}\n")


def test_strict_identity_is_of_template_and_canonical_input() -> None:
    strict = with_identity("strict")
    key = identity_key(strict, {"a": 1, "b": [2.0]})
    assert key is not None
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert identity_key(strict, {"b": [2], "a": 1}) == key
    assert identity_key(strict, {"a": 1, "b": [3]}) != key
    assert identity_key(with_identity("strict", "2"), {"a": 1, "b": [2.0]}) != key
    with pytest.raises(IdentityInvalid, match="takes no key"):
        identity_key(strict, {}, "k")


def test_a_callers_key_covers_all_versions() -> None:
    mine = with_identity("caller_provided")
    assert identity_key(mine, {}, "order-1") == identity_key(
        with_identity("caller_provided", "2"), {"x": 1}, "order-1"
    )
    assert identity_key(mine, {}, "order-1") != identity_key(mine, {}, "order-2")
    with pytest.raises(IdentityInvalid, match="give a key"):
        identity_key(mine, {})


@pytest.mark.parametrize("key", ["k" * 10_240, "🧾" * 300])
def test_long_keys_are_hashed(key: str) -> None:
    assert len(identity_key(with_identity("caller_provided"), {}, key) or "") == 64


@pytest.mark.parametrize("key", ["", "  ", "a\0", "\ud800"])
def test_unusable_keys_are_refused(key: str) -> None:
    with pytest.raises(IdentityInvalid):
        identity_key(with_identity("always_unique"), {}, key)


def test_always_unique_has_no_key_unless_one_is_given() -> None:
    unique = with_identity("always_unique")
    assert identity_key(unique, {"a": 1}) is None
    assert identity_key(unique, {"a": 1}, "k") == identity_key(with_identity("caller_provided"), {}, "k")


WITH_RULES = (
    HEAD
    + """rules:
  - {name: busy, category: resource, statuses: [503, 5xx], retry_after: 30, policy: null}
steps:
  - name: a
    handler: h.a
    rules:
      - {name: moved, category: permanent, errors: shop.errors.Moved}
"""
)


def test_rules_of_a_template_and_of_a_step_are_kept_in_its_definition() -> None:
    template = load_text(WITH_RULES)

    assert to_definition(template)["rules"] == [
        {"name": "busy", "category": "resource", "statuses": [503, "5xx"], "retry_after": 30.0}
    ]
    assert from_definition(to_definition(template)) == template
    listed = WITH_RULES.replace("errors: shop.errors.Moved", "errors: [shop.errors.Moved]")
    assert content_hash(load_text(listed)) == content_hash(template)
    assert content_hash(load_text(WITH_RULES.replace("503", "504"))) != content_hash(template)


def test_the_rules_for_a_step_are_its_own_before_the_templates_and_say_where_they_are_from() -> None:
    template = load_text(WITH_RULES)

    own, shared = template.rule_layers(template.steps[0])

    assert [(rule.name, rule.source) for rule in own[1]] == [("moved", "step a of shop/orders:1")]
    assert [(rule.name, rule.source) for rule in shared[1]] == [("busy", "template shop/orders:1")]
    assert template.rule_layers() == [shared]


def test_every_problem_of_every_rule_has_its_line() -> None:
    text = (
        HEAD
        + """rules:
  - {name: busy, category: resource, statuses: 503}
  - name: full
    category: resources
    codes: 01000
steps:
  - name: a
    handler: h.a
    rules:
      - name: moved
        categry: permanent
        errors: [a b]
      - {name: all, category: network}
"""
    )

    found = {(one.line, one.path): one.message for one in problems(text)}

    assert set(found) == {
        (7, "rules[1].category"),
        (8, "rules[1].codes[0]"),
        (13, "steps[0].rules[0].category"),
        (14, "steps[0].rules[0].categry"),
        (15, "steps[0].rules[0].errors"),
        (16, "steps[0].rules[1]"),
    }
    assert found[8, "rules[1].codes[0]"] == '01000 is a number in YAML; quote it: "01000"'
    assert found[14, "steps[0].rules[0].categry"].endswith("did you mean 'category'?")


@pytest.mark.parametrize(
    ("rules", "step_rules", "line", "says"),
    [
        ("[{name: a, category: network, codes: X1}, {name: a, category: network, codes: X2}]", "[]", 4,
         "two rules are named 'a'"),
        ("[{name: a, category: network, codes: X1}]", "[{name: a, category: network, codes: X2}]", 8,
         "two rules are named 'a'"),
        ("[]", "[{name: a, category: network, codes: X1}, {name: b, category: permanent, codes: X1}]", 8,
         "have the same conditions and say otherwise"),
        ("[{name: a, category: network, errors: E.A}, {name: b, category: network, errors: E.A, codes: X1}]",
         "[]", 4, "is never reached"),
    ],
)  # fmt: skip
def test_rules_that_contradict_each_other_are_told(rules: str, step_rules: str, line: int, says: str) -> None:
    text = f"{HEAD}rules: {rules}\nsteps:\n  - name: a\n    handler: h.a\n    rules: {step_rules}\n"

    [problem] = problems(text)

    assert (problem.line, problem.code) == (line, "rule_conflict")
    assert says in problem.message


def test_a_step_may_say_otherwise_than_its_template_and_another_step_the_same() -> None:
    own = "rules: [{name: mine, category: permanent, statuses: 503}]"
    text = f"""{HEAD}rules: [{{name: all, category: network, statuses: 503}}]
steps:
  - {{name: a, handler: h.a, {own}}}
  - {{name: b, handler: h.b, {own}}}
"""

    assert len(load_text(text).steps) == 2


def test_a_stored_template_is_read_though_its_rules_contradict() -> None:
    definition = to_definition(load_text(WITH_RULES))
    definition["rules"].append({"name": "busy", "category": "permanent", "codes": ["X1"]})

    assert len(from_definition(definition).rules) == 2


def test_more_than_a_thousand_rules_are_refused() -> None:
    rules = "".join(f"  - {{name: r{n}, category: network, codes: X{n}}}\n" for n in range(1001))

    assert codes(f"{HEAD}rules:\n{rules}{STEPS}") == {"too_many_rules"}
