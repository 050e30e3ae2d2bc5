"""The exit codes of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

INTERRUPTED = 130
BROKEN_PIPE = 141

EXIT_CODES: Mapping[int, str] = MappingProxyType(
    {
        0: "done",
        1: "it did not go well: needs a person, failed, or not yet",
        2: "wrong usage or bad input",
        3: "settings, database, broker or schema are not fit",
        4: "no such thing",
        5: "not possible in its present state",
        INTERRUPTED: "interrupted",
    }
)
