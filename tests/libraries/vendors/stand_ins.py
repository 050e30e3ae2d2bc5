"""Exceptions of libraries that are not installed: their classes by name, with the attributes that they carry.

A file has parts, `== name · module · source`, and in them lines of `Class < Base, Base | attributes as JSON |
message | right categories`. Names without a dot stand in the part's module. `response` becomes an object, its
`body` what the client has read.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.libraries.vendors import Labelled, Vendor
from tests.support.lookalikes import fake_class, named

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Table:
    """The exceptions of one library."""

    module: str
    rows: list[str]

    def make(self) -> Iterator[Labelled]:
        for line in self.rows:
            names, attributes, message, right = (part.strip() for part in line.split("|"))
            name, _, bases = names.partition("<")
            mro = [self._qualified(base.strip()) for base in bases.split(",") if base.strip()]
            exc = stand_in(self._qualified(name.strip()), mro, attributes, message)
            with as_if_installed(*(one.partition(".")[0] for one in (self.module, *mro))):
                yield Labelled(right, exc)

    def _qualified(self, name: str) -> str:
        return name if "." in name else f"{self.module}.{name}"


def vendors(file: str) -> list[Vendor]:
    """Read a file of tables."""
    found = []
    for part in (HERE / file).read_text().split("\n== ")[1:]:
        head, *rows = (line for line in part.splitlines() if line.strip())
        name, module, source = (word.strip() for word in head.split(" · "))
        found.append(Vendor(name, source, Table(module, rows).make))
    return found


@contextmanager
def as_if_installed(*packages: str) -> Iterator[None]:
    """Let these packages look as those of libraries do that are installed."""
    missing = {package for package in packages if package not in sys.modules and package != "builtins"}
    for package in missing:
        sys.modules[package] = ModuleType(package)
        sys.modules[package].__file__ = f"/opt/site-packages/{package}/__init__.py"
    try:
        yield
    finally:
        for package in missing:
            del sys.modules[package]


def stand_in(name: str, bases: list[str], attributes: str, message: str) -> BaseException:
    made = fake_class(name, bases)
    exc: BaseException = made.__new__(made, message)
    # Some drivers hand over the server's fields as they come.
    exc.args = (ast.literal_eval(message) if message.startswith("{'") else message,)
    facts: dict[str, Any] = json.loads(attributes or "{}")
    cause = facts.pop("cause", None)
    exc.__dict__.update(said=message, **{key: _value(key, value) for key, value in facts.items()})
    if cause:
        exc.__cause__ = named(cause)
    return exc


def _value(key: str, value: Any) -> Any:
    if key != "response":
        return value
    body = value.get("body", "")
    text = body if isinstance(body, str) else json.dumps(body)
    return SimpleNamespace(
        status_code=value["status"], headers=value.get("headers", {}), _content=text.encode(), text=text
    )
