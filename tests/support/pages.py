"""What a page of the documentation tells people to type."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^( *)```console\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_FENCE = "^```{}\n(.*?)^```"
_PROMPT = re.compile(r"^ *\$ remand (.*?)(?: +#.*)?$", re.MULTILINE)


def commands(page: str) -> list[list[str]]:
    """Return the `remand` commands of a page's console blocks, in order, as arguments."""
    text = (ROOT / page).read_text()
    blocks = (found[1] for found in _BLOCK.findall(text))
    return [shlex.split(line) for block in blocks for line in _PROMPT.findall(block)]


def code(page: str, language: str) -> list[str]:
    """Return the blocks of a language of a page, in order."""
    text = (ROOT / page).read_text()
    return re.findall(_FENCE.format(language), text, re.MULTILINE | re.DOTALL)
