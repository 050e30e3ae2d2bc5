"""The examples for systemd and supervisord agree with the settings, and with what the programs are called."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest

from remand_app.config import Settings

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "ops" / "systemd").glob("*.service"))
PROGRAMS = ("beat", "serve", "worker")
GRACE = float(Settings.model_fields["shutdown_grace_seconds"].default)
WORKER_NEEDS = GRACE + 10
"""After the grace: killed children are reaped, what they held is given back."""


def read(path: Path) -> configparser.ConfigParser:
    parsed = configparser.ConfigParser(interpolation=None, strict=True, inline_comment_prefixes=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # systemd minds the case
    parsed.read_string(path.read_text())
    return parsed


def supervised() -> configparser.ConfigParser:
    return read(ROOT / "ops" / "supervisord" / "remand.conf")


def test_there_is_a_unit_and_a_program_for_each() -> None:
    assert [unit.stem for unit in UNITS] == [f"remand-{name}" for name in PROGRAMS]
    assert sorted(supervised().sections()) == [f"program:remand-{name}" for name in PROGRAMS]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_stops_its_program_as_it_wants_to_be_stopped(unit: Path) -> None:
    service = read(unit)["Service"]
    assert service["ExecStart"].split()[-2:] == [
        "/opt/remand/.venv/bin/remand",
        unit.stem.removeprefix("remand-"),
    ]
    assert (service["KillSignal"], service["KillMode"], service["Restart"]) == ("SIGTERM", "mixed", "always")
    if unit.stem == "remand-worker":
        assert float(service["TimeoutStopSec"]) >= WORKER_NEEDS


@pytest.mark.parametrize("name", PROGRAMS)
def test_supervisord_stops_a_program_as_it_wants_to_be_stopped(name: str) -> None:
    program = supervised()[f"program:remand-{name}"]
    assert program["command"].split()[-2:] == ["/opt/remand/.venv/bin/remand", name]
    assert (program["stopsignal"], program["autorestart"], program["killasgroup"]) == ("TERM", "true", "true")
    if name == "worker":
        assert float(program["stopwaitsecs"]) >= WORKER_NEEDS


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_understands_a_unit(unit: Path, tmp_path: Path) -> None:
    # The paths of the example are nobody's: what is verified is everything else.
    here = unit.read_text().replace("/opt/remand/.venv/bin/remand", "/bin/true")
    (tmp_path / unit.name).write_text(here)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    told = [line for line in done.stderr.splitlines() if unit.name in line]
    assert told == []
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_would_say_what_it_does_not_understand(tmp_path: Path) -> None:
    unit = tmp_path / "remand-wrong.service"
    unit.write_text("[Service]\nExecStart=/bin/true\nKillModus=mixed\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "KillModus" in done.stderr
