"""Mask secrets found by their shape: keys of known makers, JSON Web Tokens, private keys in PEM.

Pure, in time linear in the text: each pattern begins with letters that are searched for first, repeats
possessively, and looks back and ahead over a bounded stretch.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

MASK: Final = "[redacted]"

_MADE: Final = (
    # Makers' own prefixes, from their documentation; what follows the prefix is masked.
    ("rmd_", r"[A-Za-z0-9_-]{20,}+"),
    *((prefix, r"[A-Z0-9]{16}(?![A-Za-z0-9])") for prefix in ("AKIA", "ASIA", "ABIA", "ACCA")),
    *((prefix, r"[A-Za-z0-9]{30,255}+") for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("github_pat_", r"[A-Za-z0-9_]{22,255}+"),
    *(
        (f"gl{kind}-", r"[A-Za-z0-9_.-]{20,}+")
        for kind in ("pat", "dt", "rt", "ft", "cbt", "ptt", "imt", "agent", "soat", "oas", "ffct", "rtr")
    ),
    *((f"xox{kind}-", r"[A-Za-z0-9-]{10,}+") for kind in "abeoprs"),
    ("xapp-", r"[A-Za-z0-9-]{20,}+"),
    *((f"{kind}_{mode}_", r"[A-Za-z0-9]{16,}+") for kind in ("sk", "rk") for mode in ("live", "test")),
    ("whsec_", r"[A-Za-z0-9+/=]{16,}+"),
    ("AIza", r"[A-Za-z0-9_-]{35}"),
    ("ya29.", r"[A-Za-z0-9_.-]{20,}+"),
    ("GOCSPX-", r"[A-Za-z0-9_-]{20,}+"),
    ("1//0", r"[A-Za-z0-9_-]{30,}+"),
    ("npm_", r"[A-Za-z0-9]{30,}+"),
    ("pypi-", r"[A-Za-z0-9_-]{40,}+"),
    ("SG.", r"[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}"),
    ("SK", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("sk-", r"(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}+"),
    ("hf_", r"[A-Za-z0-9]{30,}+"),
    ("gsk_", r"[A-Za-z0-9]{40,}+"),
    ("r8_", r"[A-Za-z0-9]{30,}+"),
    ("pplx-", r"[A-Za-z0-9]{40,}+"),
    ("xai-", r"[A-Za-z0-9]{40,}+"),
    *((f"do{kind}_v1_", r"[0-9a-f]{40,}+") for kind in "opr"),
    *((f"shp{kind}_", r"[0-9a-fA-F]{32}") for kind in ("at", "ca", "pa", "ss")),
    ("dapi", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    *((f"hv{kind}.", r"[A-Za-z0-9_-]{20,}+") for kind in "sbr"),
    ("glsa_", r"[A-Za-z0-9_]{30,}+"),
    ("glc_", r"[A-Za-z0-9+/=]{30,}+"),
    ("dckr_pat_", r"[A-Za-z0-9_-]{20,}+"),
    *((prefix, r"[A-Za-z0-9+/=_-]{30,}+") for prefix in ("sntrys_", "sntryu_")),
    ("lin_api_", r"[A-Za-z0-9]{30,}+"),
    ("ntn_", r"[A-Za-z0-9]{40,}+"),
    ("PMAK-", r"[0-9a-f]{20,}-[0-9a-f]{30,}+"),
    ("key-", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("NRAK-", r"[A-Z0-9]{20,}+"),
    *((prefix, r"[A-Za-z0-9_-]{22,}+") for prefix in ("sq0atp-", "sq0csp-")),
    *((f"pscale_{kind}_", r"[A-Za-z0-9_.-]{30,}+") for kind in ("pw", "tkn", "oauth")),
    ("sbp_", r"[0-9a-f]{40}"),
    ("ATATT3x", r"[A-Za-z0-9_=-]{60,}+"),
    ("HRKU-", r"[A-Za-z0-9_-]{30,}+"),
    ("rubygems_", r"[0-9a-f]{48}"),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}+"),
    *((f"dp.{kind}.", r"[A-Za-z0-9]{40,}+") for kind in ("pt", "st", "ct", "sa", "scim", "audit")),
    # A JSON Web Token, signed, not signed or encrypted. Its own "-" and "_" must not begin another.
    ("eyJ", r"(?<![_-]eyJ)[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){2,4}"),
    ("Q~", r"(?<=\dQ~)[A-Za-z0-9_.~-]{31,34}"),
    ("hooks.slack.com/services/", r"[A-Za-z0-9/_-]{20,}+"),
    ("/api/webhooks/", r"[0-9]{10,25}/[A-Za-z0-9_-]{30,}+"),
    ("api.telegram.org/bot", r"[0-9]{6,12}:[A-Za-z0-9_-]{30,}+"),
)  # fmt: skip
_RANDOM: Final = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/_=.~!@#$%^&*-]+")
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d|v?\d+\.\d")
_PEM_NEEDLE: Final = "-----BEGIN "
_PEM: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY: Final = re.compile(r"(?:[A-Za-z0-9+/=:,. \t\r\n]|\\{1,8}[nrt]|-(?!----))++")


def looks_random(text: str, least: int) -> bool:
    """Say whether a word looks random: long enough, of letters and digits, no date or version."""
    return len(text) >= least and _RANDOM.fullmatch(text) is not None and _INSTANT.match(text) is None


def mask_shapes(text: str) -> str:
    """Return the text without keys that their makers mark; their prefixes stay."""
    for prefix, body in _MADE:
        if prefix in text:
            text = _pattern(prefix, body).sub(prefix + MASK, text)
    return text


def mask_private_keys(text: str) -> str:
    """Return the text without the private keys between the marker lines of PEM, or after the first marker."""
    if _PEM_NEEDLE not in text:
        return text
    parts, done = [], 0
    while (begin := _PEM.search(text, done)) is not None:
        body = _PEM_BODY.match(text, begin.end())
        end = begin.end() if body is None else body.end()
        parts += [text[done : begin.end()], MASK if body is not None and body[0].strip() else ""]
        done = end
    return "".join(parts) + text[done:]


@cache  # few programs ever meet more than one of them
def _pattern(prefix: str, body: str) -> re.Pattern[str]:
    quoted = re.escape(prefix)
    if not prefix[0].isalnum():
        return re.compile(quoted + body)
    # The look-behind comes after the letters, because the engine searches for the letters first.
    return re.compile(f"{quoted}(?<![A-Za-z0-9]{quoted}){body}")


NEEDLES: Final = (*(prefix for prefix, _ in _MADE), _PEM_NEEDLE)
"""A text without any of these holds nothing that the functions here would mask."""
