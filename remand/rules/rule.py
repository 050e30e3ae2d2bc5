"""A rule of the classifier: data that says how one kind of failure is to be treated.

A rule never runs code of its own. `remand.facts` reads an exception, and `remand.classify` asks the rules in
order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal[
    "type",
    "header",
    "label",
    "vendor",
    "name",
    "api_code",
    "code_word",
    "sqlstate",
    "mysql",
    "sqlite",
    "grpc",
    "smtp",
    "exit",
    "amqp",
    "mongo",
    "ssl",
    "gai",
    "errno",
    "status",
    "base",
    "text",
    "fallback",
    "flag",
]
"""How a rule is found. `type` decides at once; `base` after all codes; `fallback` if nothing else decided."""

Key = str | int

TRANSIENT: Final = "transient"
NETWORK: Final = "network"
RESOURCE: Final = "resource"
PERMISSION: Final = "permission"
VALIDATION: Final = "validation"
PERMANENT: Final = "permanent"

EXPONENTIAL: Final = "exponential"
LINEAR: Final = "linear"
IMMEDIATE: Final = "immediate"
NEVER: Final = "never"
FIXED: Final = "fixed"
FIBONACCI: Final = "fibonacci"

POLICY_OF: Final[dict[str, str]] = {
    TRANSIENT: EXPONENTIAL,
    NETWORK: EXPONENTIAL,
    RESOURCE: LINEAR,
    PERMISSION: NEVER,
    VALIDATION: NEVER,
    PERMANENT: NEVER,
}
"""Category to the policy it has unless a rule says otherwise."""

CATEGORIES: Final = tuple(POLICY_OF)
POLICIES: Final = (EXPONENTIAL, LINEAR, IMMEDIATE, NEVER, FIXED, FIBONACCI)
"""What a rule may say. Built-in rules keep to the first four; users know what their services like."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Say what one kind of failure is.

    `keys` are what the rule is looked up by: qualified class names (`type`, `base`, `fallback`), codes, or
    the top-level packages a text rule applies to (`*`: any). `text` is a pattern the message or the body
    must also match, ignoring case. Every text that it matches holds one of the `hints` (lower case): looking
    for them first saves the search in most texts. `needs_retry_after` demands that the server named a time to
    wait. Rules with a condition go before those without. `confidence` is between 0 and 1. An empty `policy`
    means the policy of the category.
    """

    name: str
    kind: Kind
    keys: tuple[Key, ...]
    category: str
    reason: str
    source: str
    policy: str = ""
    text: str = ""
    needs_retry_after: bool = False
    hints: tuple[str, ...] = ()
    confidence: float = 0.95
    pattern: re.Pattern[str] | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.category not in POLICY_OF:
            raise ValueError(f"rule {self.name}: unknown category {self.category!r}")
        policy = self.policy or POLICY_OF[self.category]
        if policy not in (EXPONENTIAL, LINEAR, IMMEDIATE, NEVER):
            raise ValueError(f"rule {self.name}: unknown policy {policy!r}")
        object.__setattr__(self, "policy", policy)
        if self.text:
            object.__setattr__(self, "pattern", re.compile(_in_lower_case(self.text)))

    @property
    def is_conditional(self) -> bool:
        """Say whether the key alone is not enough for this rule."""
        return self.needs_retry_after or self.pattern is not None


def _in_lower_case(pattern: str) -> str:
    """Return a pattern for lower-case text: without IGNORECASE a search is several times as fast."""
    return re.sub(r"\\.|[A-Z]+", lambda part: part[0] if part[0][0] == "\\" else part[0].lower(), pattern)


def under(*modules: str, names: str) -> tuple[str, ...]:
    """Return the qualified names of classes (separated by blanks) in each of the modules."""
    return tuple(f"{module}.{name}" for module in modules for name in names.split())
