"""Read settings from their sources, and remember the origin of each value.

A source only reports what it holds; the model refuses unknown names and wrong types.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from remand_app.domain.errors import Problem

PREFIX = "REMAND_"
CONFIG_VARIABLE = "REMAND_CONFIG"
TEST_PREFIX = "REMAND_TEST_"
"""The prefix of variables that the test suite reads; no setting begins with it."""
OTHERS = (CONFIG_VARIABLE, TEST_PREFIX, "REMAND_USER", "REMAND_TOKEN", "REMAND_EMBEDDED_")
"""Names and prefixes of variables that are no settings: command line, client, embedded servers read them."""

Key: TypeAlias = tuple[str, ...]

_TABLE = re.compile(r"\s*\[\s*([\w.\-]+)\s*\]")
_ENTRY = re.compile(r"\s*\[\[\s*([\w.\-]+)\s*\]\]")
_KEY = re.compile(r"\s*([\w.\-]+)\s*=")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was given: `file` and 1-based `line`, or an environment variable in place of `file`."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Given:
    """What a source holds: values as nested dicts, the origin of each key, and what could not be read."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[Key, Origin] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def over(self, lower: Given) -> Given:
        """Return both together; where both have a key, this source wins. Tables merge key by key."""
        hidden = {key for key in lower.origins if any(key[:n] in self.origins for n in range(1, len(key)))}
        return Given(
            _merged(lower.values, self.values),
            {key: origin for key, origin in (lower.origins | self.origins).items() if key not in hidden},
            (*lower.problems, *self.problems),
        )


def read_file(path: Path) -> Given:
    try:
        text = path.read_text(encoding="utf-8-sig")
        values = tomllib.loads(text)
    except OSError as error:
        return _unreadable(path, None, f"cannot be read: {error.strerror}", "SETTINGS_FILE_UNREADABLE")
    except UnicodeDecodeError:
        return _unreadable(path, None, "is not UTF-8 text", "SETTINGS_FILE_INVALID")
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"line (\d+)", str(error))
        return _unreadable(
            path, int(match[1]) if match else None, f"is not TOML: {error}", "SETTINGS_FILE_INVALID"
        )
    return Given(values, {key: Origin(str(path), line) for key, line in _lines(text).items()})


def read_environment(environ: Mapping[str, str]) -> Given:
    """Read `REMAND_<KEY>` and `REMAND_<TABLE>__<KEY>`. An empty variable counts as unset."""
    values: dict[str, Any] = {}
    origins: dict[Key, Origin] = {}
    for variable, value in sorted(environ.items()):
        if not variable.startswith(PREFIX) or variable.startswith(OTHERS) or not value:
            continue
        key = tuple(variable.removeprefix(PREFIX).lower().split("__"))
        values = _merged(values, _nested(key, value))
        origins[key] = Origin(variable)
    return Given(values, origins)


def variable_of(key: Key) -> str:
    return PREFIX + "__".join(key).upper()


def _unreadable(path: Path, line: int | None, message: str, code: str) -> Given:
    return Given(problems=(Problem(str(path), line, "", message, code),))


def _lines(text: str) -> dict[Key, int]:
    # tomllib keeps no positions. This sees every key that begins a line, which is how settings are written.
    lines: dict[Key, int] = {}
    table: Key = ()
    entries: dict[Key, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if entry := _ENTRY.match(line):
            name = tuple(entry[1].split("."))
            table = (*name, str(entries.setdefault(name, 0)))
            entries[name] += 1
            lines[table] = number
        elif header := _TABLE.match(line):
            table = tuple(header[1].split("."))
            lines.setdefault(table, number)
        elif pair := _KEY.match(line):
            lines.setdefault((*table, *pair[1].split(".")), number)
    return lines


def _nested(key: Key, value: str) -> dict[str, Any]:
    head, *rest = key
    return {head: _nested(tuple(rest), value) if rest else value}


def _merged(lower: dict[str, Any], upper: dict[str, Any]) -> dict[str, Any]:
    both = dict(lower)
    for key, value in upper.items():
        held = both.get(key)
        both[key] = _merged(held, value) if isinstance(held, dict) and isinstance(value, dict) else value
    return both
