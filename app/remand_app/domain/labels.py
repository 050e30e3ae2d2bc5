"""What people attach: labels of letters, tags of workflows, and links."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from remand_app.domain.errors import InputInvalid

MOST: Final = 20
"""Labels, tags or links of one thing."""
LONGEST_LINK: Final = 2_000
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/=@+-]{0,63}")
_UNPRINTABLE: Final = re.compile(r"[\s\x00-\x1f\x7f<>\"]")


def check_labels(wanted: Iterable[str], what: str = "label") -> list[str]:
    """Return the labels, each once, in the order given.

    Raises:
        InputInvalid: one has other characters, is too long, or there are too many.
    """
    labels = list(dict.fromkeys(wanted))
    for label in labels:
        if _LABEL.fullmatch(label) is None:
            raise InputInvalid(
                f"{label[:80]!r} is no {what}",
                hint=f"a {what} has 1 to 64 letters, digits and _ . : / = @ + -, and begins with one of the"
                " first two",
            )
    return _few(labels, what)


def check_links(wanted: Iterable[str]) -> list[str]:
    """Return the links, each once, in the order given.

    Raises:
        InputInvalid: one is no http or https URL, carries a password, or there are too many.
    """
    links = list(dict.fromkeys(wanted))
    for link in links:
        if not _is_address(link):
            raise InputInvalid(
                f"{link[:80]!r} is no link", hint="give an http or https URL without a password in it"
            )
    return _few(links, "link")


def _is_address(text: str) -> bool:
    if len(text) > LONGEST_LINK or _UNPRINTABLE.search(text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.password is None
    except ValueError:
        return False


def _few(values: list[str], what: str) -> list[str]:
    if len(values) > MOST:
        raise InputInvalid(f"{len(values)} {what}s are too many", hint=f"at most {MOST}")
    return values
