from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.redaction import mask_text, redact


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://remand:hunter2@db:5432/remand", "postgresql://remand:***@db:5432/remand"),
        ("redis://:hunter2@cache:6379/0", "redis://:***@cache:6379/0"),
        ("amqps://u:a@b/c@mq//", "amqps://u:***@mq//"),
        ("cannot reach 'redis+x://u:x@h/d' twice", "cannot reach 'redis+x://u:***@h/d' twice"),
        (
            "postgresql:///d?user=u&password=hunter2&host=/run",
            "postgresql:///d?user=u&password=***&host=/run",
        ),
        ("host=db password='it\\'s' user=u", "host=db password=*** user=u"),
        ("https://api.example.com:8443/orders", "https://api.example.com:8443/orders"),
        ("redis://cache:6379/0", "redis://cache:6379/0"),
        ("a password is needed", "a password is needed"),
    ],
)
def test_masks_passwords_in_text_and_nothing_else(text: str, masked: str) -> None:
    assert mask_text(text) == masked


@given(st.from_regex(r"[A-Za-z0-9:/@?#%!$]{1,30}", fullmatch=True))
def test_no_password_of_a_url_survives(password: str) -> None:
    assert f"Zq{password}qZ" not in mask_text(f"redis://user:Zq{password}qZ@host:6379/0")


def test_a_secret_name_hides_its_whole_value_at_any_depth() -> None:
    value = {"order": [{"Card-Number": {"pan": "4242"}, "amount": 5}], "X-Api-Key": 7, "note": "redis://:p@h"}

    assert redact(value, ["card_number", "api_key"]) == {
        "order": [{"Card-Number": "***", "amount": 5}],
        "X-Api-Key": "***",
        "note": "redis://:***@h",
    }


def test_the_value_given_is_not_changed() -> None:
    value = {"password": "x", "list": ["y"]}

    redact(value, ["password"])

    assert value == {"password": "x", "list": ["y"]}
