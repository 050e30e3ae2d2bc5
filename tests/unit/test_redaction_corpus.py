"""How much of what is secret is hidden, how much of what is not is left: on lines written before the code."""

from __future__ import annotations

import pytest

from remand.redact import redact_text
from remand_app.config.settings import Settings
from tests.support.redaction import lines, score

KEYS = Settings.model_fields["redact_keys"].default


def test_the_corpus_is_large_and_of_many_kinds() -> None:
    every = [*lines("known.txt"), *lines("held_out.txt")]
    assert len({line.kind for line in every}) >= 20
    assert sum(bool(line.secrets) for line in every) >= 150
    assert sum(not line.secrets for line in every) >= 100
    assert len({line.text for line in every}) == len(every)


@pytest.mark.parametrize(
    ("name", "precision", "recall"), [("known.txt", 0.97, 0.99), ("held_out.txt", 0.95, 0.93)]
)
def test_secrets_are_hidden_and_the_rest_is_left(name: str, precision: float, recall: float) -> None:
    found = score(list(lines(name)), lambda text: redact_text(text, KEYS))

    assert found.recall >= recall, found.shown
    assert found.precision >= precision, found.spoiled
