"""Secrets do not get out, and what is no secret stays readable."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remand import redact, secret_shapes
from remand.redact import MASK, is_clean, is_secret, redact_json, redact_text

KEYS = ("password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "private_key")


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://app:hunter2@db:5432/x",
        "cannot reach redis://:hunter2@cache:6379/0",
        "host=db password=hunter2 user=app",
        "password = 'hunter2'",
        '{"api_key": "hunter2", "n": 1}',
        '{"dbPassword": "hunter2"}',
        "{'X-Token': 'hunter2'}",
        "client_secret=hunter2&grant=x",
        "apiKey: hunter2",
        "SECRET=hunter2",
        "Authorization: Bearer hunter2hunter2",
        'got "hunter2hunter2" with Bearer hunter2hunter2'.replace('"hunter2hunter2"', "401"),
        '{\\"token\\": \\"hunter2\\"}',
    ],
)
def test_masks_secrets_in_text(text: str) -> None:
    masked = redact_text(text, KEYS)
    assert "hunter2" not in masked
    assert MASK in masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://remand:hunter2@db:5432/remand", f"postgresql://remand:{MASK}@db:5432/remand"),
        ("redis://:hunter2@cache:6379/0", f"redis://:{MASK}@cache:6379/0"),
        ("amqps://u:a@b/c@mq//", f"amqps://u:{MASK}@mq//"),
        ("cannot reach 'redis+x://u:x@h/d' twice", f"cannot reach 'redis+x://u:{MASK}@h/d' twice"),
        ("postgresql:///d?password=hunter2&host=/run", f"postgresql:///d?password={MASK}&host=/run"),
        ("host=db password='it\\'s' user=u", f"host=db password='{MASK}' user=u"),
        ("host=db sslpassword=hun,ter2 user=u", f"host=db sslpassword={MASK} user=u"),
        ("Server=db;Pwd=hunter2;App=x", f"Server=db;Pwd={MASK};App=x"),
        ("host=db password='cut of", f"host=db password='{MASK}"),
        ("https://api.example.com:8443/orders", "https://api.example.com:8443/orders"),
        ("redis://cache:6379/0", "redis://cache:6379/0"),
        ("a password is needed", "a password is needed"),
        ("used rmd_Zq3-x_9abcdefghijklmnop twice", f"used rmd_{MASK} twice"),
        ("the token begins with rmd_Zq3x_9", "the token begins with rmd_Zq3x_9"),
    ],
)
def test_masks_by_shape_without_keys_and_only_once(text: str, masked: str) -> None:
    assert redact_text(text) == masked
    assert redact_text(masked) == masked


@given(st.from_regex(r"[A-Za-z0-9:/@?#%!$']{1,30}", fullmatch=True))
def test_no_password_of_a_url_survives(password: str) -> None:
    assert f"Zq{password}qZ" not in redact_text(f"redis://user:Zq{password}qZ@host:6379/0")


@pytest.mark.parametrize(
    "text",
    [
        "tokenizer=5",
        "http://db:5432/path",
        "mail to a@b.example: done",
        "KeyError: 'customer_id'",
        "the password is wrong",
        "order=77, customer=12",
    ],
)
def test_leaves_other_text_alone(text: str) -> None:
    assert redact_text(text, KEYS) == text


@pytest.mark.parametrize(
    "name", ["password", "dbPassword", "X-Api-Key", "API_KEY", "apiKey", "access_token", "Tokens"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name, KEYS)


@pytest.mark.parametrize("name", ["tokenizer", "passage", "key", "secretary", "", "api"])
def test_names_of_other_things(name: str) -> None:
    assert not is_secret(name, KEYS)


def test_masks_json_without_changing_it() -> None:
    value = {"a": [{"apiKey": 1, "n": 2.5}], "Access-Token": {"q": [1]}, "note": "redis://:p@h", "ok": None}
    before = json.dumps(value)
    assert redact_json(value, KEYS) == {
        "a": [{"apiKey": MASK, "n": 2.5}],
        "Access-Token": MASK,
        "note": f"redis://:{MASK}@h",
        "ok": None,
    }
    assert json.dumps(value) == before


def test_masks_json_of_any_depth() -> None:
    deep: Any = {"token": "x"}
    for _ in range(50_000):
        deep = [deep]
    masked = redact_json(deep, KEYS)
    while isinstance(masked, list):
        (masked,) = masked
    assert masked == {"token": MASK}


@given(st.text())
def test_any_text_can_be_masked(text: str) -> None:
    assert isinstance(redact_text(text, KEYS), str)


_HOSTILE = [
    "token", "token ", "token=", "token='x\n", 'token=\\"', "token={", "token: [\n", "token={'",
    "token\\\\", "a-token", "api_", "a_", "://", "a://b:", "a://b:c@", "-eyJ", "-eyJaaaaaaaaaa.",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "-sk-a", "cookie: a=b; ", "authorization: ",
    "bearer aaaaaaaaa", "a:b@tcp(", "<token ", 'password", "value', "password=a,a,a,a,", "curl -u a:b",
    "by token:a", "token: |\n a\n", "token%3D%22", "?sig=&key=", "signature=", "jdbc:oracle:thin:a/",
    "digest response=", "SG.aaaaaaaaaaaaaaaaaaaa.", "glpat-a", "identified by '",
    "token                                ",
]  # fmt: skip


def _cost(text: str) -> float:
    """Return the least seconds of the processor of three."""
    return min(_timed(text) for _ in range(3))


def _timed(text: str) -> float:
    begun = time.process_time()
    redact_text(text)
    return time.process_time() - begun


@pytest.mark.parametrize("part", _HOSTILE)
def test_cost_grows_with_the_length_and_not_with_its_square(part: str) -> None:
    short, long = (part * (size // len(part)) for size in (8_000, 64_000))

    # Eight times as long: 64 times as dear if each part looked at all others.
    assert _cost(long) < 24 * max(_cost(short), 0.000_2)


@pytest.mark.parametrize("prefix", sorted(secret_shapes.NEEDLES))
def test_cost_of_what_begins_like_a_key_grows_with_the_length(prefix: str) -> None:
    short, long = (f"{prefix}a1 " * size for size in (300, 2_400))

    assert _cost(long) < 24 * max(_cost(short), 0.000_2)


@pytest.mark.parametrize(
    "text",
    [
        "by token:ci-2",
        "requeued by token:ops.bot: again",
        '{"by": "token:ann@x"}',
        "by=token:a_b",
        "token:ci",
    ],
)
def test_who_acted_stays_readable(text: str) -> None:
    assert redact_text(text, KEYS) == text
    assert redact_json({"by": "token:k8s-deploy-2026", "at": text}, KEYS) == {
        "by": "token:k8s-deploy-2026",
        "at": text,
    }


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        ({"name": "DB_PASSWORD", "value": "x"}, {"name": "DB_PASSWORD", "value": MASK}),
        ([["X-Api-Key", "abc123def"], ["Accept", "a/b"]], [["X-Api-Key", MASK], ["Accept", "a/b"]]),
        ({"required": ["password", "username"]}, {"required": ["password", "username"]}),
        ({"max_tokens": 9, "token": 9}, {"max_tokens": 9, "token": MASK}),
        ({"token_type": "bearer", "has_password": True}, {"token_type": "bearer", "has_password": True}),
    ],
)
def test_masks_what_pairs_call_a_secret_and_not_what_is_said_of_one(value: Any, masked: Any) -> None:
    assert redact_json(value, KEYS) == masked


@given(
    st.one_of(
        st.text(max_size=60),
        st.text(alphabet="abT09:-=. +Z_'", max_size=30),
        st.datetimes(timezones=st.timezones()).map(lambda one: one.isoformat()),
        st.lists(st.sampled_from(["rmd_", "Bearer", " ", "://", "token", "=", "a" * 25, "\u00a0"])).map(
            "".join
        ),
    )
)
@example("rmd_" + "_" * 20)
@example("whsec_" + "a" * 16)
def test_what_is_passed_over_quickly_holds_nothing_to_mask(text: str) -> None:
    assert redact_text(text, KEYS) == redact._masked(text, KEYS)


_TELLING = [
    "rmd_",
    "Bearer",
    "basic",
    "://",
    "=",
    ": ",
    "passWord",
    "API",
    "Key",
    "_",
    "\u017f",
    "\u0131",
    "a" * 25,
    "?sig",
    "curl -u a:b",
    "AKIA",
    "ABCDEFGH12345678",
    "-us1",
    "eyJ",
    ".",
    "\n",
    '"',
]
_WORDS = st.lists(st.sampled_from([*_TELLING, " ", "pwd", "u:x@h", "auth", "orization", "\u212a"])).map(
    "".join
)


@given(
    st.recursive(_WORDS | st.none() | st.integers(), lambda one: st.lists(one) | st.dictionaries(_WORDS, one))
)
def test_what_is_clean_at_a_glance_holds_nothing_to_mask(value: Any) -> None:
    if is_clean(json.dumps(value, ensure_ascii=False), KEYS):
        assert redact_json(value, KEYS) == value


@pytest.mark.parametrize("name", ["credential", "api_key", "authorization", "secret"])
def test_a_letter_that_only_a_pattern_takes_for_another_is_not_clean(name: str) -> None:
    alike = [one for one in map(chr, range(128, sys.maxunicode)) if re.fullmatch("[a-z]", one, re.IGNORECASE)]
    assert alike
    for one in alike:
        for place in range(len(name)):
            text = f"{name[:place]}{one}{name[place + 1 :]}=hunter2"
            assert redact_text(text, [name]) == text or not is_clean(text, [name])


def test_most_of_what_is_stored_is_clean_at_a_glance() -> None:
    assert is_clean('{"at": "2026-11-28T14:27:55+00:00", "by": "sweep.stale", "input": {"key": 5}}', KEYS)
