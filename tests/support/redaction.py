"""The corpus of secrets in text: how its files are read, and how masking is scored against it.

A secret is hidden when no six characters of it in a row are left. A line is spoiled when a word outside its
secrets is gone; one without secrets when anything has changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from remand.redact import MASK

FOLDER = Path(__file__).parents[1] / "unit" / "redaction"
_SECRET = re.compile("⟦([^⟧]*)⟧")
_WINDOW = 6


@dataclass(frozen=True, slots=True)
class Line:
    kind: str
    text: str
    secrets: tuple[str, ...]
    around: tuple[str, ...]
    """What stands before, between and behind the secrets."""


@dataclass(frozen=True, slots=True)
class Score:
    precision: float
    """Secrets hidden, of these and of the lines that were spoiled."""
    recall: float
    shown: Sequence[tuple[str, str]]
    """Each secret that is left, with its line as it came out."""
    spoiled: Sequence[tuple[str, str]]


def lines(name: str) -> Iterator[Line]:
    """Yield the lines of `known.txt` or `held_out.txt`."""
    kind = ""
    for raw in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if raw.startswith("## "):
            kind = raw[3:]
        elif raw[:2] in ("+ ", "- "):
            parts = _SECRET.split(raw[2:].replace("␤", "\n"))
            assert (len(parts) > 1) == (raw[0] == "+"), raw
            # What stands before the dot is the maker's prefix, which tells nothing.
            secrets = tuple(part.rpartition("·")[2] for part in parts[1::2])
            yield Line(kind, "".join(parts).replace("·", ""), secrets, tuple(parts[::2]))


def score(corpus: Sequence[Line], redact: Callable[[str], str]) -> Score:
    """Mask every line and compare."""
    shown: list[tuple[str, str]] = []
    spoiled: list[tuple[str, str]] = []
    for line in corpus:
        masked = redact(line.text)
        shown += [(secret, masked) for secret in line.secrets if _is_left(secret, line, masked)]
        if _is_spoiled(line, masked):
            spoiled.append((line.text, masked))
    total = sum(len(line.secrets) for line in corpus)
    hidden = total - len(shown)
    return Score(hidden / max(1, hidden + len(spoiled)), hidden / total, shown, spoiled)


def _is_left(secret: str, line: Line, masked: str) -> bool:
    around = "\0".join(line.around)
    size = min(_WINDOW, len(secret))
    pieces = {secret[at : at + size] for at in range(len(secret) - size + 1)}
    return any(piece in masked and piece not in around for piece in pieces)


def _is_spoiled(line: Line, masked: str) -> bool:
    if not line.secrets:
        return masked != line.text
    left = Counter(re.findall(r"\w+", masked.replace(MASK, " ")))
    return bool(Counter(word for part in line.around for word in re.findall(r"\w{3,}", part)) - left)
