"""Tell from a name whether it names a secret: fields, headers, variables, flags, parameters of URLs.

Pure. A fact *about* a secret (`token_type`, `password_min_length`, `has_password`) is no secret.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

DEFAULT_KEYS: Final = (
    "password", "passwd", "passphrase", "pwd", "pass", "secret", "token", "api_key", "apikey", "access_key",
    "account_key", "subscription_key", "signing_key", "encryption_key", "master_key", "private_key",
    "authorization", "cookie", "credential", "requirepass", "masterauth", "rediscli_auth", "card_number",
    "cvv", "cvc", "ssn",
)  # fmt: skip
"""Parts of names whose values are masked where settings say nothing else."""
PASSWORDS: Final = ("password", "passwd", "passphrase", "pwd")
"""Names that are masked in texts whatever settings say: connection strings hold them."""

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST: Final = 128
_GLUED: Final = (*PASSWORDS, "secret", "token", "apikey", "cookie", "credential", "accesskey", "privatekey")
"""Words that may end a longer word: `PGPASSWORD`, `csrftoken`."""
_OF_SECRETS: Final = frozenset({*PASSWORDS, "secret", "token", "key", "apikey", "cookie", "credential"})
"""Nouns for which another word can name a fact about them. Card numbers and users' own keys have none."""
_ABOUT: Final = frozenset(
    {
        "age", "alg", "algorithm", "arn", "at", "attempts", "audience", "auth", "authentication", "by",
        "changed", "class", "count", "counts", "date", "days", "dir", "disabled", "domain", "enabled",
        "endpoint", "error", "errors", "exception", "expected", "expiration", "expired", "expires",
        "expiry", "failed", "failure", "field", "file", "filter", "folder", "format", "go", "handler",
        "header", "headers", "hours", "html", "httponly", "id", "ids", "in", "invalid", "issuer",
        "java", "js", "json", "label", "len", "length", "limit", "limits", "location", "manager", "max",
        "message", "method", "min", "minutes", "missing", "mode", "name", "names", "on", "path", "php",
        "policy", "prefix", "prompt", "provider", "py", "rb", "reader", "ref", "required", "rotation",
        "samesite", "scheme", "scope", "scopes", "seconds", "secure", "service", "size", "state",
        "status", "stdin", "store", "strategy", "strength", "time", "timeout", "tries", "ts", "ttl",
        "txt", "type", "types", "uri", "url", "usage", "user", "username", "valid", "validator",
        "version", "yaml", "yml",
    }
)  # fmt: skip
_ASKING: Final = frozenset({"has", "is", "needs", "requires"})
_COUNTED: Final = frozenset({"tokens", "pass", "secrets", "cookies", "credentials"})


def is_secret(name: str, keys: tuple[str, ...]) -> bool:
    """Say whether a name has the words of a key in it: `dbPassword`, `X-Api-Key`, but not `tokenizer`."""
    return _is_secret(name[-_LONGEST:], keys)


def is_counted(name: str) -> bool:
    """Say whether a number under a secret's name is no secret: `max_tokens`, `pass`."""
    return plain(name[-_LONGEST:]).rpartition("_")[2] in _COUNTED


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Return the words of a name in lower case with `_` between: `apiKey` as `api_key`."""
    return "_".join(_WORDS.findall(name)).lower()


@lru_cache(maxsize=4096)
def _is_secret(name: str, keys: tuple[str, ...]) -> bool:
    words = plain(name)
    return bool(words) and any(_has(words, plain(key)) for key in keys)


def _has(words: str, key: str) -> bool:
    if not key:
        return False
    padded, together = f"_{words}_", key.replace("_", "")
    # "apikey" is to match "api_key" and "API-Key": written together as well as apart.
    is_there = any(f"_{spelling}_" in padded or f"_{spelling}s_" in padded for spelling in (key, together))
    if not is_there and together in _GLUED:
        is_there = f"{together}_" in padded or f"{together}s_" in padded
    return is_there and not _is_about(words.split("_"), key)


def _is_about(words: list[str], key: str) -> bool:
    if key == "pass":  # one of many meanings, and of names like `smtp_pass` the last word
        return words[-1] != "pass"
    if key.rpartition("_")[2] not in _OF_SECRETS:
        return False
    if words[-2:] == ["secret", "id"]:  # Vault's own name of one
        return False
    return words[-1] in _ABOUT or words[0] in _ASKING
