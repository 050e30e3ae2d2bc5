"""Rules for Facebook's Graph API: the codes of its error object, which a status of 400 hides."""

from __future__ import annotations

from typing import Final

from remand.rules.rule import EXPONENTIAL, PERMISSION, RESOURCE, TRANSIENT, VALIDATION, Rule

_TABLE: Final = "https://developers.facebook.com/docs/graph-api/guides/error-handling/"


def _codes(codes: str) -> tuple[str, ...]:
    return tuple(f"FACEBOOK-{code}" for code in codes.split())


RULES: Final = (
    Rule(
        "facebook.limited",
        "vendor",
        _codes("4 17 32 341 613 80000 80001 80002 80003 80004 80005 80006 80008 80009 80014"),
        RESOURCE,
        "the app, the page or the account has called too often",
        _TABLE,
        EXPONENTIAL,
    ),
    Rule(
        "facebook.denied",
        "vendor",
        _codes("3 10 102 190 200 368"),
        PERMISSION,
        "the token is over, or the right is missing",
        _TABLE,
    ),
    Rule("facebook.passing", "vendor", _codes("1 2"), TRANSIENT, "the service failed; it will pass", _TABLE),
    Rule(
        "facebook.refused",
        "vendor",
        _codes("100 506 1609005"),
        VALIDATION,
        "the call is refused as it is",
        _TABLE,
    ),
)
