"""What a case is, and how the cases of one library are gathered: a library that is missing is named."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from remand.classify import Classification

FAMILIES = ("system", "web", "cloud", "saas", "databases", "brokers", "frameworks", "later")


@dataclass(frozen=True)
class Case:
    """An exception and its class; `also` names other classes that are right (`category/policy`, blanks)."""

    expected: str
    exc: BaseException
    also: str = ""
    why: str = ""

    @property
    def accepted(self) -> set[str]:
        return {self.expected, *self.also.split()}


Maker = Callable[[], Iterator[Case]]


@dataclass(frozen=True)
class Family:
    library: str
    source: str
    make: Maker


GATHERED: list[Family] = []


def family(library: str, source: str) -> Callable[[Maker], Maker]:
    """Register the cases of one library; `source` says where their classes are documented."""

    def register(make: Maker) -> Maker:
        GATHERED.append(Family(library, source, make))
        return make

    return register


def passes(case: Case, found: Classification) -> bool:
    return f"{found.category}/{found.policy}" in case.accepted


def families() -> list[Family]:
    for name in FAMILIES:
        importlib.import_module(f"tests.libraries.families.{name}")
    return GATHERED


def caught(action: Callable[[], object]) -> BaseException:
    """Return what the action raises: the exception as the library makes it."""
    try:
        action()
    except BaseException as exc:
        return exc
    raise AssertionError("nothing was raised")


def caused(outer: BaseException, cause: BaseException) -> BaseException:
    outer.__cause__ = cause
    return outer


def meanwhile(outer: BaseException, handled: BaseException) -> BaseException:
    """Return `outer` as raised while `handled` was handled."""

    def action() -> None:
        try:
            raise handled
        except BaseException:
            raise outer  # noqa: B904

    return caught(action)
