"""What spares a text the search of a rule never hides what the rule would have found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remand.rules import BOOK, Rule

HINTED = [rule for rule in BOOK.rules if rule.hints]


@pytest.mark.parametrize("rule", HINTED, ids=lambda rule: rule.name)
@settings(max_examples=300)
@given(data=st.data())
def test_a_hint_stands_in_all_that_the_pattern_matches(rule: Rule, data: st.DataObject) -> None:
    assert rule.pattern is not None
    text = data.draw(st.from_regex(rule.pattern))
    assert any(hint in text for hint in rule.hints)


def test_some_rules_have_hints_and_all_are_in_lower_case() -> None:
    assert len(HINTED) >= 5
    assert all(hint == hint.lower() for rule in HINTED for hint in rule.hints)
