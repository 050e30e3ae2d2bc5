"""What the client says over the wire, without a broker."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery

from remand.client import Client


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> tuple[Client, list[dict[str, Any]]]:
    made = Client(Celery("shop", broker="memory://"))
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(made, "_call", lambda name, arguments: said.append(arguments) or {})
    return made, said


def test_null_is_said_to_be_an_input_and_left_out_it_is_none(
    client: tuple[Client, list[dict[str, Any]]],
) -> None:
    made, said = client
    made.retry("w", "a")
    made.retry("w", "a", input={"n": 1})
    made.retry("w", "a", input=None)

    assert [{key: one[key] for key in ("input", "has_input") if key in one} for one in said] == [
        {}, {"input": {"n": 1}}, {"input": None, "has_input": True},
    ]  # fmt: skip
