"""Messages of the protocol of Celery: what is read, dropped and refused; `WireInvalid` is the only error."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remand_app.domain.celery_protocol import WireInvalid, check_content, read_command, read_task

HEADERS = {"task": "remand.drain", "id": "1"}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.datetimes(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)
FIELDS = (
    "task", "id", "args", "kwargs", "expires", "eta", "retries", "timelimit", "taskset", "callbacks",
    "chord", "group", "method", "arguments", "destination", "reply_to",
    "matcher", "pattern", "ticket", "clock", "priority",
)  # fmt: skip
MESSAGE = st.dictionaries(st.sampled_from(FIELDS), ANYTHING) | ANYTHING


@given(headers=MESSAGE, properties=MESSAGE, payload=MESSAGE)
@settings(max_examples=50)
def test_any_message_is_read_or_refused(headers: Any, properties: Any, payload: Any) -> None:
    try:
        task = read_task(headers, properties, payload)
    except WireInvalid:
        return
    assert {type(task.headers["id"]), type(task.headers["task"])} == {str}
    assert task.headers["timelimit"] == [None, None]
    args, kwargs, embedded = task.body
    assert (type(args), type(kwargs), type(embedded)) == (list, dict, dict)
    assert all(isinstance(name, str) for name in kwargs)


@given(headers=MESSAGE, payload=MESSAGE)
@settings(max_examples=50)
def test_any_command_is_read_or_refused(headers: Any, payload: Any) -> None:
    try:
        command = read_command(headers, payload, reply_exchange="reply")
    except WireInvalid:
        return
    assert command.method
    assert command.reply_to is None or command.reply_to["exchange"] == "reply"


@pytest.mark.parametrize(
    ("headers", "payload", "body"),
    [
        (HEADERS, [["steps"], {}, {}], [["steps"], {}]),
        (HEADERS, {"args": ["steps"]}, [["steps"], {}]),
        ({}, {**HEADERS, "args": ["steps"], "kwargs": {"a": 1}}, [["steps"], {"a": 1}]),
        (None, {**HEADERS, "args": None, "kwargs": None}, [[], {}]),
    ],
)
def test_both_protocols_become_one(headers: Any, payload: Any, body: list[Any]) -> None:
    task = read_task(headers, None, payload)
    assert task.body[:2] == body
    assert task.headers["task"] == "remand.drain"


def test_instants_are_written_as_celery_reads_them() -> None:
    told = {**HEADERS, "eta": "2026-11-27T08:00:00", "expires": "2026-11-27T10:00:00+02:00"}
    headers = read_task(told, None, [[], {}, None]).headers
    assert headers["eta"] == headers["expires"] == "2026-11-27T08:00:00+00:00"


def test_what_follows_a_task_is_kept() -> None:
    after = {"callbacks": [{"task": "remand.submit", "args": []}], "chord": {"task": "a"}, "chain": None}
    assert read_task(HEADERS, None, [[], {}, after]).body[2] == {**after, "errbacks": None}


@pytest.mark.parametrize(
    ("content_type", "encoding"),
    [
        (None, None),
        ("text/plain", "utf-8"),
        ([], None),
        ("application/json", "zlib_codec"),
        ("application/json", 7),
    ],
)
def test_body_that_is_not_json_is_refused(content_type: Any, encoding: Any) -> None:
    with pytest.raises(WireInvalid):
        check_content(content_type, encoding)


@pytest.mark.parametrize("value", [-1, 1.5, math.inf, True, "7", [], 10**30])
def test_count_out_of_bounds_is_refused(value: Any) -> None:
    with pytest.raises(WireInvalid, match="its retries is no count"):
        read_task({**HEADERS, "retries": value}, None, [[], {}, None])


def test_a_token_is_read_from_the_headers_alone() -> None:
    assert (
        read_task({**HEADERS, "remand_token": "rmd_a"}, None, [[], {}, {}]).headers["remand_token"] == "rmd_a"
    )
    assert read_task({}, None, {**HEADERS, "remand_token": "rmd_a"}).headers["remand_token"] is None
    with pytest.raises(WireInvalid, match="remand_token"):
        read_task({**HEADERS, "remand_token": ["rmd_a"]}, None, [[], {}, {}])
