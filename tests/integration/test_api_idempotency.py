"""Idempotency-Key: a repeated POST does nothing twice, whoever repeats it, whenever, and after a crash."""

from __future__ import annotations

from typing import Any

import pytest
from httpx import Client

from remand_app.api.idempotency import REPLAYED
from remand_app.domain.errors import KeyInUse
from remand_app.store import idempotency
from tests.support.engine import publish
from tests.support.shapes import CHAIN, shape
from tests.support.threads import together, values
from tests.support.web import Web


@pytest.fixture
def client(web: Web) -> Client:
    publish(web.engine, shape("chain", CHAIN))
    return web.program("operator", "ann")


def submit(client: Client, key: str, **body: Any) -> Any:
    sent = {"template": "t/chain", "input": {"order": 1}, **body}
    return client.post("/api/v1/workflows", json=sent, headers={"Idempotency-Key": key})


def workflows(web: Web) -> int:
    return int(web.database.call("select count(*) from remand.workflows")[0][0])


def test_the_first_answer_comes_again(web: Web, client: Client) -> None:
    first, again = submit(client, "k1"), submit(client, "k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert (first.headers.get(REPLAYED), again.headers[REPLAYED]) == (None, "true")
    assert workflows(web) == 1


def test_another_request_with_the_same_key_is_refused(web: Web, client: Client) -> None:
    submit(client, "k1")
    other = submit(client, "k1", input={"order": 2})
    assert (other.status_code, other.json()["error"]["code"]) == (422, "KEY_REUSED")
    assert workflows(web) == 1


def test_keys_of_two_callers_do_not_meet(web: Web, client: Client) -> None:
    submit(client, "k1")
    assert REPLAYED not in submit(web.program("operator", "bob"), "k1").headers
    assert workflows(web) == 2


def test_an_error_frees_the_key(web: Web, client: Client) -> None:
    assert submit(client, "k1", template="t/late").status_code == 404
    publish(web.engine, shape("late", CHAIN))
    assert submit(client, "k1", template="t/late").status_code == 201


def test_a_key_is_forgotten_after_a_day(web: Web, client: Client) -> None:
    submit(client, "k1")
    submit(client, "k2")
    web.clock.advance(hours=24, seconds=1)
    again = submit(client, "k1", input={"order": 2})
    assert (again.status_code, REPLAYED in again.headers) == (201, False)
    kept = web.database.call("select key from remand.idempotency_keys")
    assert kept == [("k1",)]


def test_many_at_once_make_one_workflow(web: Web, client: Client) -> None:
    answers = values(together(*[lambda: submit(client, "k1") for _ in range(8)]))
    codes = {one.status_code for one in answers}
    assert 201 in codes
    assert codes <= {201, 409}
    assert {one.json()["error"]["code"] for one in answers if one.status_code == 409} <= {"KEY_IN_USE"}
    assert len({one.json()["workflow_id"] for one in answers if one.status_code == 201}) == 1
    assert workflows(web) == 1


def test_who_crashed_half_way_makes_no_second_workflow(
    web: Web, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise SystemError("the process was killed here")

    with monkeypatch.context() as patched:
        patched.setattr("remand_app.resources.idempotency.keep", crash)
        assert submit(client, "k1").status_code == 500
    assert workflows(web) == 1
    assert submit(client, "k1").json()["error"]["code"] == "KEY_IN_USE"
    web.clock.advance(seconds=idempotency.BUSY_SECONDS + 1)
    again = submit(client, "k1")
    assert (again.status_code, again.json()["created"]) == (200, False)
    assert workflows(web) == 1


def test_a_key_under_way_is_a_conflict_and_not_a_second_run(web: Web) -> None:
    first = idempotency.take(web.database, web.clock, "ann", "k", "f")
    with pytest.raises(KeyInUse):
        idempotency.take(web.database, web.clock, "ann", "k", "f")
    web.clock.advance(seconds=idempotency.BUSY_SECONDS + 1)
    assert idempotency.take(web.database, web.clock, "ann", "k", "f") == first


@pytest.mark.parametrize("key", ["", "ä" * 3, "with space", "x" * 256])
def test_a_key_must_be_plain(client: Client, key: str) -> None:
    answered = client.post(
        "/api/v1/workflows", json={"template": "t/chain"}, headers=[(b"Idempotency-Key", key.encode())]
    )
    assert answered.status_code == 422
