"""Mask logins and credentials found by their surroundings: in URLs, connection strings, headers, flags.

Pure, in time linear in the text: a few letters mark a place to look, and only a bounded stretch around that
place is read.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from typing import Final

from remand.secret_shapes import MASK, looks_random

_LONGEST: Final = 1_300
_END_OF_URL: Final = re.compile(r"[\s\"]")
_USER: Final = re.compile(r"[^\s/:@'\"]{0,256}")
_PORT: Final = re.compile(r"\d{1,5}(?:[/?#]|'[,:)\]}])")

_PARAMETER: Final = re.compile(
    r"(?<=[?&;#])(?P<head>(?:u0026)?(?P<name>sig|signature|x-amz-signature|x-goog-signature|hmac|jwt|key|code"
    r"|auth|session|sid|ticket|assertion)=)(?P<value>[^\s&;#\"'<>]++)",
    re.IGNORECASE | re.ASCII,
)
_MAYBE: Final = frozenset({"key", "code", "auth", "session", "sid", "ticket", "assertion"})
_SIGNED: Final = re.compile(
    r"(?P<head>signature=)(?<![A-Za-z]signature=)[A-Za-z0-9+/%=_-]{20,}+", re.IGNORECASE | re.ASCII
)

_SCHEME: Final = re.compile(
    r"(?<![A-Za-z0-9_])(?P<head>(?P<scheme>bearer|basic)[ \t]{1,4})(?P<value>[A-Za-z0-9+/._~=-]{8,}+)",
    re.IGNORECASE | re.ASCII,
)
_DIGEST: Final = re.compile(r"(?P<head>(?:response|nonce|opaque)=\\{0,7}[\"']?)[A-Za-z0-9+/=_-]{12,}+")
_ORACLE: Final = re.compile(r"(?P<head>jdbc:oracle:[a-z0-9]{1,8}:[^\s/@]{1,128}/)[^\s@]{1,256}(?=@)")
_BEFORE_GO: Final = " \t\r\n\"'=@"
_USER_FLAG: Final = re.compile(
    r"(?<![\w-])(?P<head>(?:-u|--user|--proxy-user)(?:[ \t]{1,4}|=)"
    r"(?:(?P<quote>[\"'])[^\s:\"']{1,64}:(?=[^\"'\r\n]{1,256}[\"'])|[^\s:\"']{1,64}:))"
    r"(?P<value>(?(quote)[^\"'\r\n]+|[^\s\"']+))"
)
_COOKIE_FLAG: Final = re.compile(r"(?<![\w-])(?P<head>-b[ \t]{1,4}[\"']?[\w.-]{1,64}=)[^;\s\"']{1,1024}")
_SSHPASS: Final = re.compile(r"(?P<head>sshpass[ \t]{1,4}-p[ \t]{0,4})\S{1,256}")
_IDENTIFIED: Final = re.compile(
    r"(?P<head>identified[ \t]{1,4}by[ \t]{1,4}['\"])[^'\"]{1,256}", re.IGNORECASE | re.ASCII
)
_MAILCHIMP: Final = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32}(?=-us\d{1,2}(?!\w))")
_HEAD: Final = rf"\g<head>{MASK}"

_OF_PARAMETERS: Final = (
    "sig", "hmac=", "jwt=", "key=", "code=", "auth=", "session=", "sid=", "ticket=", "assertion=",
)  # fmt: skip


def mask_logins(text: str, folded: str) -> str:
    """Return the text without the credentials; `folded` is the text, casefolded."""
    if "://" in folded:
        text = _mask_urls(text)
    for needle in ("@tcp(", "@unix("):
        if needle in folded:
            text = _mask_go(text, needle)
    for needles, pattern in _PLAIN:
        if any(needle in folded for needle in needles):
            text = pattern.sub(_HEAD, text)
    if "-us" in folded:
        text = _MAILCHIMP.sub(MASK, text)
    if any(needle in folded for needle in _OF_PARAMETERS):
        text = _SIGNED.sub(_HEAD, _PARAMETER.sub(_parameter, text))
    if "bearer" in folded or "basic" in folded:
        text = _SCHEME.sub(_scheme, text)
    return _USER_FLAG.sub(_user_flag, text) if "curl" in folded else text


_PLAIN: Final = (
    (("digest",), _DIGEST),
    (("jdbc:oracle:",), _ORACLE),
    (("curl",), _COOKIE_FLAG),
    (("sshpass",), _SSHPASS),
    (("identified",), _IDENTIFIED),
)


def _mask_urls(text: str) -> str:
    """Mask what is between the user's name and the last "@" of a URL: passwords may hold "/", "@" and "'"."""
    parts, done, end_of_run = [], 0, 0
    at = text.find("://")
    while at >= 0:
        start = at + 3
        if start > end_of_run:
            match = _END_OF_URL.search(text, start)
            end_of_run = len(text) if match is None else match.start()
        end = text.rfind("@", start, min(end_of_run, start + _LONGEST))
        secret = _start_of_secret(text, start, end) if end > start and text[at - 1 : at].isalnum() else None
        if secret is not None:
            parts += [text[done:secret], MASK]
            start = done = end
        at = text.find("://", start)
    return "".join(parts) + text[done:]


def _start_of_secret(text: str, start: int, end: int) -> int | None:
    """Return where the secret of a login begins, None if there is none. A port is no secret."""
    match = _USER.match(text, start, end)
    user = start if match is None else match.end()
    if user == end:
        return start if looks_random(text[start:end], 20) else None
    if text[user] != ":" or user + 1 == end or _PORT.match(text, user + 1):
        return None
    return None if text.startswith(MASK, user + 1) and user + 1 + len(MASK) == end else user + 1


def _mask_go(text: str, needle: str) -> str:
    """Mask the password of Go's driver for MySQL: `user:password@tcp(host)/database`."""
    parts, done = [], 0
    at = text.find(needle)
    while at >= 0:
        window = text[max(done, at - 320) : at]
        login = window[1 + max(window.rfind(sign) for sign in _BEFORE_GO) :]
        user, _, password = login.partition(":")
        if user and password:
            parts += [text[done : at - len(password)], MASK]
            done = at
        at = text.find(needle, at + 1)
    return "".join(parts) + text[done:]


def _parameter(match: re.Match[str]) -> str:
    if match["name"].lower() in _MAYBE and not looks_random(match["value"], 12):
        return match[0]
    return f"{match['head']}{MASK}"


def _scheme(match: re.Match[str]) -> str:
    value = match["value"]
    if match["scheme"].lower() == "basic":
        is_secret = _is_login(value)
    else:
        is_secret = len(value) >= 20 or any(sign.isdigit() for sign in value)
    return f"{match['head']}{MASK}" if is_secret else match[0]


def _is_login(text: str) -> bool:
    """Say whether a text is `user:password` in base64, or as long and mixed as one."""
    try:
        return b":" in b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return looks_random(text, 20)


def _user_flag(match: re.Match[str]) -> str:
    # `-u 1000:1000` names a user and a group.
    return match[0] if match["value"].isdigit() else f"{match['head']}{MASK}"
