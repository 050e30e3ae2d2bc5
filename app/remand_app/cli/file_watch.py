"""Notice that somebody saved a handler or a template, for `remand up --dev`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from remand_app.domain.template.load import SUFFIXES

_LOOK_SECONDS: Final = 0.5
_MOST_FILES: Final = 5_000
"""Looked at; a folder with more is somebody's home, not a project."""
_PASSED_OVER: Final = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})


class Changes:
    """The Python files below a folder, and templates wherever they are, as they were at the last look."""

    def __init__(self, folder: Path, templates: Iterable[Path | str]) -> None:
        self._roots = [(folder, frozenset({".py"})), *((Path(path), SUFFIXES) for path in templates)]
        self._seen = self._look()
        self._next = 0.0

    def since_last(self) -> list[Path]:
        """Return the files that changed, came or went since the last look; looks twice a second at most."""
        if time.monotonic() < self._next:
            return []
        now = self._look()
        self._next = time.monotonic() + _LOOK_SECONDS
        changed = [path for path in {**self._seen, **now} if self._seen.get(path) != now.get(path)]
        self._seen = now
        return sorted(changed)

    def _look(self) -> dict[Path, tuple[int, int]]:
        looks: dict[Path, tuple[int, int]] = {}
        for path in self._files():
            try:
                status = path.stat()
            except OSError:  # the file was removed while we looked: that is a change, too
                continue
            looks[path] = (status.st_mtime_ns, status.st_size)
            if len(looks) >= _MOST_FILES:
                break
        return looks

    def _files(self) -> Iterator[Path]:
        for root, suffixes in self._roots:
            if not root.is_dir():
                yield root
                continue
            for place, folders, names in os.walk(root):
                folders[:] = [
                    folder for folder in folders if folder not in _PASSED_OVER and not folder.startswith(".")
                ]
                yield from (Path(place, name) for name in names if Path(name).suffix in suffixes)
