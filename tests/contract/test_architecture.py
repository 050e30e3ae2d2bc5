"""The map of the code names files that are there, and every room that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs/architecture.md").read_text()
ROOMS = ("app", "workers", "remand", "migrations", "tools")
FILES = {
    path.relative_to(ROOT).as_posix()
    for room in ROOMS
    for path in (ROOT / room).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
} | {"beat_schedule.py", "pyproject.toml"}
NAMED = sorted(set(re.findall(r"`([\w/.]+\.(?:py|sql|html|toml))`", MAP)))
FOLDERS = sorted(set(re.findall(r"`([\w/]+/)`", MAP)) - {"docs/"})


def test_the_map_names_files() -> None:
    assert len(NAMED) > 20


@pytest.mark.parametrize("name", NAMED)
def test_a_file_of_the_map_is_there(name: str) -> None:
    assert any(file == name or file.endswith(f"/{name}") for file in FILES)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_the_map_is_there(name: str) -> None:
    assert any(file.startswith(name) or f"/{name}" in file for file in FILES)


@pytest.mark.parametrize(
    "room", sorted({"/".join(file.split("/")[:3]) for file in FILES if file.count("/") > 2})
)
def test_a_room_of_the_service_is_on_the_map(room: str) -> None:
    assert room in MAP or not room.startswith("app/")
