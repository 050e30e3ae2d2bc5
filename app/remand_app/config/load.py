"""Merge the sources, validate the result with the model, and report all problems at once."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from remand.redact import redact_json, redact_text
from remand_app.config.settings import Settings
from remand_app.config.sources import (
    CONFIG_VARIABLE,
    Given,
    Key,
    Origin,
    read_environment,
    read_file,
    variable_of,
)
from remand_app.domain.errors import ConfigInvalid, Problem

DEFAULT_FILE = Path("remand.toml")


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of this process: environment over TOML file over defaults.

    The file is `path`, else what `$REMAND_CONFIG` names, else `./remand.toml` if there is one. `environ` is
    the process's own unless given.

    Raises:
        ConfigInvalid: with every problem of both sources; nothing is half loaded.
    """
    settings, _ = load_settings_with_origins(path, environ)
    return settings


def load_settings_with_origins(
    path: Path | None = None, environ: Mapping[str, str] | None = None
) -> tuple[Settings, dict[str, str]]:
    """Return the settings and, for each dotted key that was given, where: `file:line` or a variable's name.

    Raises:
        ConfigInvalid: with every problem of both sources.
    """
    environ = os.environ if environ is None else environ
    given = read_environment(environ).over(_from_file(path, environ))
    problems = list(given.problems)
    try:
        settings = Settings.model_validate(given.values)
    except ValidationError as error:
        problems += (_problem(detail, given) for detail in error.errors(include_url=False))
        raise ConfigInvalid(problems) from None
    if problems:
        raise ConfigInvalid(problems)
    origins = {".".join(key): str(origin) for key, origin in given.origins.items()}
    return _with_places(settings, given), origins


def _with_places(settings: Settings, given: Given) -> Settings:
    """Add to each rule the place where it was written."""
    placed = []
    for index, rule in enumerate(settings.rules):
        origin = _origin(("rules", str(index)), given)
        placed.append(rule.written_at(str(origin or "")))
    return settings.model_copy(update={"rules": tuple(placed)}) if placed else settings


def _from_file(path: Path | None, environ: Mapping[str, str]) -> Given:
    named = path or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    if named is not None:
        return read_file(named)
    return read_file(DEFAULT_FILE) if DEFAULT_FILE.exists() else Given()


def _problem(detail: ErrorDetails, given: Given) -> Problem:
    # pydantic adds "[key]" to the place of a bad mapping key; the settings know no such level.
    key = tuple(str(part) for part in detail["loc"] if part != "[key]")
    origin = _origin(key, given)
    file, line = (origin.file, origin.line) if origin else (None, None)
    path = _path(key, given)
    if detail["type"] == "extra_forbidden":
        return Problem(file, line, path, _unknown(key, origin), "SETTING_UNKNOWN")
    return Problem(file, line, path, _wrong(key, detail, origin), "SETTING_INVALID")


def _path(key: Key, given: Given) -> str:
    """Write a key for people; a list entry shows its number and its name: `rules[2] (slow).policy`."""
    path = ""
    value: Any = given.values
    for part in key:
        if path and part.isdecimal():
            value = value[int(part)] if isinstance(value, list) else None
            name = value.get("name") if isinstance(value, dict) else None
            path += f"[{part}] ({name})" if isinstance(name, str) else f"[{part}]"
        else:
            value = value.get(part) if isinstance(value, dict) else None
            path += f".{part}" if path else part
    return path


def _origin(key: Key, given: Given) -> Origin | None:
    """Find the origin of the key itself, else of anything inside it, else of the table it lies in."""
    inside = (origin for held, origin in given.origins.items() if held[: len(key)] == key)
    around = (
        given.origins[key[:length]] for length in range(len(key), 0, -1) if key[:length] in given.origins
    )
    return given.origins.get(key) or next(inside, None) or next(around, None)


def _unknown(key: Key, origin: Origin | None) -> str:
    *table, name = key
    alike = difflib.get_close_matches(name, _names(tuple(table)), n=1, cutoff=0.5)
    if not alike:
        return "is not a setting; docs/reference/settings.md lists them all"
    if any(part.isdecimal() for part in table):
        return f"is not a setting; did you mean {alike[0]}?"
    right = (*table, alike[0])
    in_environment = origin is not None and origin.line is None
    return f"is not a setting; did you mean {variable_of(right) if in_environment else '.'.join(right)}?"


def _names(table: Key) -> list[str]:
    model: type[BaseModel] = Settings
    for name in (part for part in table if not part.isdecimal()):
        field = model.model_fields.get(name)
        inner = (
            next((kind for kind in kinds_of(field.annotation) if _is_model(kind)), None) if field else None
        )
        if inner is None:
            return []
        model = inner
    return list(model.model_fields)


def kinds_of(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the one type itself."""
    return getattr(annotation, "__args__", ()) or (annotation,)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _wrong(key: Key, detail: ErrorDetails, origin: Origin | None) -> str:
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ").replace("tuple", "list")
    # A whole target may be secret, and so may a list of targets that is not valid JSON.
    if key[-1].endswith("_url") or key[0] == "notify":
        return message
    shown = redact_text(repr(redact_json(detail["input"], ("password", "secret", "token"))))[:80]
    return f"{message}; {'given' if origin else 'the default'} is {shown}"
