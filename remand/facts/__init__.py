"""Read what an exception of any library says about itself, without importing that library.

Every read is guarded: attributes, `__str__` and containers of an exception may raise or lie. `reading` holds
the guards, `subject` reads what all exceptions have, `servers`, `system` and `vendors` read codes, and
`codes` puts the codes in order.
"""

from __future__ import annotations

from remand.facts.codes import Facts, shown_code
from remand.facts.reading import HOSTILE, item, qualified, read, text_of
from remand.facts.vendors import plain_code, words_of_class

__all__ = [
    "HOSTILE",
    "Facts",
    "item",
    "plain_code",
    "qualified",
    "read",
    "shown_code",
    "text_of",
    "words_of_class",
]
