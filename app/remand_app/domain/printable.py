"""Make text safe for a terminal: characters that control it, or reorder its text, are shown as escapes."""

from __future__ import annotations

import re

# C0 but tab and line feed, DEL, C1, what has no width, separators of lines, marks that turn the direction of
# text, fillers, tags, and halves of characters.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""Return the text with `\x1b` for an escape, `\u202e` for a character that reorders text, and so on.

    Tabs and line feeds stay. Idempotent.
    """
    return _STEERING.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    point = ord(match[0])
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
