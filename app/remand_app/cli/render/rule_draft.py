"""Draft a rule in TOML from a failure that no rule knew. A person decides the category; the rest is ready."""

from __future__ import annotations

import json
import re

from remand.fingerprint import masked
from remand.redact import MASK
from remand.rules.user import UserRule

_LONGEST = 120
_MARK = re.compile(r"<(?:url|email|id|address|value|path|n)>|" + re.escape(MASK))
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def draft(error_class: str, message: str, fingerprint: str) -> str:
    """Return a `[[rules]]` table that matches the failure; without what cannot be said safely."""
    lines = ["[[rules]]", f'name = "{_name(error_class, fingerprint)}"']
    lines.append('category = "transient"  # or network, resource, permission, validation, permanent')
    if _is_nameable(error_class):
        lines.append(f"errors = {_quoted(error_class)}")
    if pattern := pattern_of(message):
        lines.append(f"message = {_quoted(pattern)}")
    lines.append('reason = ""  # what the next person should know')
    return "\n".join(lines)


def pattern_of(message: str) -> str:
    """Return a regular expression for messages of this kind; empty when there is none to be trusted."""
    text = masked(message)[:_LONGEST]
    parts, end = [], 0
    for mark in _MARK.finditer(text):
        parts.append(_escaped(text[end : mark.start()]))
        end = mark.end()
    parts.append(_escaped(text[end:].partition("<")[0] if "<" in text[end:] else text[end:]))
    pattern = ".+".join(parts).removesuffix(".+").strip()
    match = pattern and re.search(pattern, message, re.IGNORECASE)
    return pattern if match and any(character.isalpha() for character in pattern) else ""


def _escaped(text: str) -> str:
    return r"\s+".join(re.escape(word) for word in text.split(" "))


def _name(error_class: str, fingerprint: str) -> str:
    own = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", error_class.rpartition(".")[2]).lower()
    return f"{_NOT_IN_NAMES.sub('-', own).strip('-')[:40] or 'failure'}-{fingerprint[:4]}"


def _is_nameable(error_class: str) -> bool:
    try:
        UserRule("draft", "transient", errors=(error_class,))
    except ValueError:
        return False
    return True


def _quoted(text: str) -> str:
    """Return a TOML basic string, which is a JSON one but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
