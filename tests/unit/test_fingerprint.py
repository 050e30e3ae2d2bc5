"""Failures of one kind have one fingerprint, whatever values they carry; failures of two kinds have two."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import remand.fingerprint as fingerprinting
from remand.fingerprint import fingerprint, masked

TRACEBACK = 'Traceback (most recent call last):\n  File "{}", line {}, in {}\nshop.Odd: no\n'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order 17 is gone", "order 4242 is gone"),
        ("took 3.5 s", "took 12,000.75 s"),
        ("balance is -3", "balance is 90"),
        ("job 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "job 00000000-0000-4000-8000-000000000000"),
        ("charge ch_1NxYzAbC2 failed", "charge ch_9ZzQ81xKe failed"),
        ("blob deadbeefdeadbeefdead", "blob 0123456789abcdef0123"),
        ("<Till object at 0x7f12ab>", "<Till object at 0x55aa00ff>"),
        ("no key 'total'", "no key 'amount'"),
        ('relation "a" is missing', 'relation "b_c d" is missing'),
        ("host 10.0.0.1:5432 is down", "host 192.168.17.2:80 is down"),
        ("host fe80::1 is down", "host 2001:db8::ff00:42:8329 is down"),
        ("mail to a@example.com", "mail to bob.b+c@mail.example.org"),
        ("GET https://a.example/x?y=1 failed", "GET http://b.example/z failed"),
        ("cannot open /srv/a/b.json", "cannot open /tmp/x-1/y_2.tar.gz"),
        ("at 2026-11-27T12:00:01Z", "at 2025-01-02T03:04:05Z"),
        ("Too  Many\nSpaces", "too many spaces"),
    ],
)
def test_values_do_not_count(one: str, other: str) -> None:
    assert masked(one) == masked(other)
    assert fingerprint("shop.Odd", one) == fingerprint("shop.Odd", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP 503", "HTTP 404"),
        ("status code: 500", "status code: 429"),
        ("[Errno 104] reset", "[Errno 111] reset"),
        ("the till is locked", "the till is open"),
        ("can't pay, won't pay", "can't stay, won't stay"),
        ("unknown codec utf-8", "unknown codec latin"),
    ],
)
def test_what_is_said_counts(one: str, other: str) -> None:
    assert fingerprint("shop.Odd", one) != fingerprint("shop.Odd", other)


def test_the_class_and_the_place_count_but_not_the_line() -> None:
    assert fingerprint("shop.Odd", "x") != fingerprint("shop.Even", "x")
    here = TRACEBACK.format("/srv/a/site-packages/shop/till.py", 10, "open")
    moved = TRACEBACK.format("/home/b/site-packages/shop/till.py", 99, "open")
    other = TRACEBACK.format("/srv/a/site-packages/shop/till.py", 10, "close")
    assert fingerprint("shop.Odd", "", here) == fingerprint("shop.Odd", "", moved)
    assert len({fingerprint("shop.Odd", "", trace) for trace in (here, other, "")}) == 3


STDLIB = "/usr/lib/python3.11/json/decoder.py"
HTTPX = "/srv/venv/lib/python3.11/site-packages/httpx/_client.py"


def trace(*places: tuple[str, str], message: str = "no", before: str = "") -> str:
    frames = "".join(f'  File "{file}", line 7, in {function}\n    pay()\n' for file, function in places)
    return f"{before}Traceback (most recent call last):\n{frames}shop.Odd: {message}\n"


def test_the_users_own_frames_count_not_those_of_libraries() -> None:
    charge, refund = ("/srv/shop/till.py", "charge"), ("/srv/shop/till.py", "refund")
    by_charge = fingerprint("shop.Odd", "no", trace(charge, (HTTPX, "send"), (STDLIB, "recv")))
    by_refund = fingerprint("shop.Odd", "no", trace(refund, (HTTPX, "send"), (STDLIB, "recv")))
    upgraded = fingerprint("shop.Odd", "no", trace(charge, (HTTPX, "_send_once"), ("<frozen os>", "recv")))

    assert by_charge != by_refund
    assert by_charge == upgraded


def test_neither_depth_nor_the_way_there_counts() -> None:
    step, walk = ("/srv/shop/till.py", "step"), ("/srv/shop/tree.py", "walk")
    found = {fingerprint("shop.Odd", "no", trace(step, *[walk] * depth)) for depth in (1, 2, 9)}
    assert len(found) == 1
    far = [("/srv/shop/a.py", "a"), ("/srv/shop/b.py", "b"), ("/srv/shop/c.py", "c")]
    assert fingerprint("shop.Odd", "no", trace(step, *far)) == fingerprint(
        "shop.Odd", "no", trace(walk, *far)
    )


def test_the_frames_of_what_is_raised_count_not_of_what_led_to_it() -> None:
    own = ("/srv/shop/till.py", "charge")
    cause = trace(("/srv/shop/bank.py", "ask")) + "\nThis led to:\n\n"
    other = trace(("/srv/shop/bank.py", "tell")) + "\nThis led to:\n\n"
    assert fingerprint("shop.Odd", "no", trace(own, before=cause)) == fingerprint(
        "shop.Odd", "no", trace(own, before=other)
    )


def test_frames_that_the_message_tells_of_do_not_count() -> None:
    own = ("/srv/shop/till.py", "charge")
    told = [f'lost:\n  File "/srv/{name}.py", line 3, in run\n' for name in ("one", "two")]
    one, other = (fingerprint("shop.Odd", message, trace(own, message=message)) for message in told)
    assert one == other


def test_where_the_code_lies_does_not_count() -> None:
    places = [
        f"{root}/shop/till.py" for root in ("/srv/releases/20261128", "/srv/releases/20261129", "C:\\a")
    ]
    places.append("C:\\shop\\till.py")
    found = {fingerprint("shop.Odd", "no", trace((place, "charge"))) for place in places}
    found |= {fingerprint("shop.Odd", "no", trace((f"/srv/r-{n}/till.py", "charge"))) for n in (1, 2)}
    assert len(found) == 2


def test_the_products_own_frames_are_not_the_users() -> None:
    product = str(Path(fingerprinting.__file__).parents[1] / "app" / "remand_app" / "engine" / "run.py")
    own = ("/srv/shop/till.py", "charge")
    assert fingerprint("shop.Odd", "no", trace((product, "_call"), own)) == fingerprint(
        "shop.Odd", "no", trace((product, "_call_it"), own)
    )


@given(st.text(), st.text(st.characters(codec=None)), st.text())
def test_every_text_has_one(error_class: str, message: str, traceback: str) -> None:
    found = fingerprint(error_class, message, traceback)
    assert re.fullmatch(r"[0-9a-f]{16}", found)
    assert fingerprint(error_class, message, traceback) == found


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_no_number_counts(one: int, other: int) -> None:
    assert fingerprint("shop.Odd", f"till {one} shut") == fingerprint("shop.Odd", f"till {other} shut")


@pytest.mark.parametrize("part", ["a1_", "a-", "'", '"', "/a", "0:", "a@", "a.", "http://", "errno ", "-1"])
def test_no_text_takes_long(part: str) -> None:
    started = time.monotonic()
    masked(part * 500_000)
    assert time.monotonic() - started < 1
