"""No version that is locked, and no floor, lies below the fix of a known advisory."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
KNOWN: dict[str, Any] = tomllib.loads((ROOT / "requirements/advisories.toml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FIXED: dict[str, Version] = {}
for one in KNOWN["advisory"]:
    FIXED[one["package"]] = max(Version(one["fixed"]), FIXED.get(one["package"], Version("0")))
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
_PIN = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def direct(*groups: str) -> Iterator[Requirement]:
    """Yield what pyproject.toml names: of the product, of its extras, and of some groups."""
    named = list(PROJECT["project"]["dependencies"])
    for extra in PROJECT["project"]["optional-dependencies"].values():
        named += extra
    for group in groups:
        named += [one for one in PROJECT["dependency-groups"][group] if isinstance(one, str)]
    # An extra of ours that takes in another one is nobody's package.
    return (Requirement(name) for name in named if not name.startswith("remand["))


def floor(wanted: Requirement) -> Version:
    """Return the least version that is allowed; 0 without one."""
    lowest = [
        Version(one.version.removesuffix(".*"))
        for one in wanted.specifier
        if one.operator in {">=", "==", "~="}
    ]
    return max(lowest, default=Version("0"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda one: one.name)
def test_what_is_locked_has_every_known_fix(lock: Path) -> None:
    pinned = {canonicalize_name(name): Version(version) for name, version in _PIN.findall(lock.read_text())}

    assert pinned
    assert {
        name: str(version) for name, version in pinned.items() if version < FIXED.get(name, version)
    } == {}


def test_floors_have_every_known_fix() -> None:
    wanted = {canonicalize_name(one.name): floor(one) for one in direct("build", "dev")}

    assert {name: str(least) for name, least in wanted.items() if least < FIXED.get(name, least)} == {}


def test_every_direct_dependency_was_looked_up() -> None:
    looked_up = FIXED.keys() | set(KNOWN["none_known"])

    assert {canonicalize_name(one.name) for one in direct("build", "dev")} - looked_up == set()
    assert FIXED.keys() & set(KNOWN["none_known"]) == set()


@pytest.mark.parametrize("advisory", KNOWN["advisory"], ids=lambda one: one["id"])
def test_an_advisory_says_where_it_is_from(advisory: dict[str, str]) -> None:
    assert advisory.keys() == {"package", "fixed", "id", "about", "source"}
    assert advisory["package"] == canonicalize_name(advisory["package"])
    assert re.fullmatch(r"CVE-\d{4}-\d{4,}|GHSA(-[0-9a-z]{4}){3}", advisory["id"])
    assert advisory["source"].startswith("https://")


def test_what_strangers_speak_to_is_bounded_from_below() -> None:
    # Neither comes with a floor that is high enough from what needs it.
    named = {canonicalize_name(one.name) for one in direct()}
    assert {"starlette", "python-multipart", "tornado", "h11"} <= named
