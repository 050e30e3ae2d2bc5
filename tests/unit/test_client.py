"""What the client says over the wire, without a broker."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery

from remand.client import Client, NoAnswer, WaitTimedOut
from remand_app.domain.errors import WaitTimedOut as Same


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


@pytest.mark.parametrize(
    ("given", "variable", "sent"),
    [
        (None, None, {}),
        (None, "", {}),
        (None, "rmd_env\n", {"remand_token": "rmd_env"}),
        ("rmd_own", "rmd_env", {"remand_token": "rmd_own"}),
        ("", "rmd_env", {}),
    ],
)
def test_a_token_is_sent_as_a_header(
    monkeypatch: pytest.MonkeyPatch, given: str | None, variable: str | None, sent: dict[str, str]
) -> None:
    monkeypatch.delenv("REMAND_TOKEN", raising=False)
    if variable is not None:
        monkeypatch.setenv("REMAND_TOKEN", variable)
    made = Client(Celery("shop", broker="memory://"), timeout=0.1, token=given)
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(made._app, "send_task", lambda *_, **more: calls.append(more) or Answered())
    made.get("w")

    assert calls[0]["headers"] == sent
    assert not sent or sent["remand_token"] not in str(calls[0]["kwargs"])
    assert "rmd_" not in repr(made)


class Answered:
    """What an answer is waited for by."""

    def get(self, **_: Any) -> dict[str, Any]:
        return {"ok": {}}


def test_a_wait_that_runs_out_has_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Client(Celery("shop", broker="memory://"))
    running = {"is_final": False, "needs_person": False, "state": "steps_in_process"}
    monkeypatch.setattr(made, "_call", lambda *_: running)

    with pytest.raises(WaitTimedOut) as told:
        made.wait("w", timeout=0)

    error = told.value
    assert (error.code, error.exit_code) == ("WAIT_TIMED_OUT", 1) == (Same.code, Same.exit_code)
    assert error.details == {"under_way": {"w": "steps_in_process"}}
    assert isinstance(error, NoAnswer), "code that caught NoAnswer goes on as before"
