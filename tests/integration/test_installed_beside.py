"""An installed wheel: beside a project whose packages have the names of our folders, and without extras."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
OURS = {"remand", "remand_app", "remand_examples", "remand_migrations", "remand_workers"}


def environment(*path: str) -> dict[str, str]:
    """Return this environment without settings of ours, with these folders for Python to import from."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REMAND_", "PYTHON"))}
    return {**kept, "PYTHONPATH": os.pathsep.join(path)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as a release is."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture
def project(wheel: Path, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A project with packages like our folders, and an environment where the wheel alone brings ours."""
    installed, folder = tmp_path / "installed", tmp_path / "project"
    zipfile.ZipFile(wheel).extractall(installed)
    for package in ("app", "workers", "migrations", "examples", "tests"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text(f"WHOSE = 'the project, {package}'\n")
    (folder / "beat_schedule.py").write_text("WHOSE = 'the project, beat_schedule'\n")
    (folder / "app" / "celery.py").write_text("from celery import Celery\n\ncelery = Celery('shop')\n")
    (folder / "app" / "tasks.py").write_text(
        "import app, beat_schedule, examples, migrations, workers\n"
        "from remand import StepContext, handler\n\n"
        "@handler('shop.charge')\n"
        "def charge(ctx: StepContext) -> str:\n"
        "    found = (app, beat_schedule, examples, migrations, workers)\n"
        "    return ', '.join(module.WHOSE for module in found)\n"
    )
    # Without `site` the editable install's folders are not on the path; packages of others are named instead.
    path = environment(str(installed), str(folder), sysconfig.get_path("purelib"))
    return folder, {**path, "REMAND_HANDLERS": "app.tasks"}


def test_a_wheel_owns_no_other_names(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == OURS


def test_handlers_in_a_package_called_app_are_loaded(project: tuple[Path, dict[str, str]]) -> None:
    folder, environment = project
    program = (
        "from remand_app.runtime import import_handlers; import_handlers(['app.tasks']);"
        "from remand.handler import registry; print(registry.find('shop.charge')(None))"
    )

    ran = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip

    names = ("app", "beat_schedule", "examples", "migrations", "workers")
    assert ran.stdout.strip() == ", ".join(f"the project, {name}" for name in names)


@pytest.mark.parametrize("app", ["remand_workers", "app"])
def test_both_apps_are_found_by_celery_in_the_projects_folder(
    project: tuple[Path, dict[str, str]], app: str
) -> None:
    folder, environment = project

    ran = subprocess.run(
        [sys.executable, "-S", "-m", "celery", "-q", "-A", app, "report"],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert "software -> celery:" in ran.stdout


def needed(names: list[str]) -> dict[str, Distribution]:
    """Return the distributions that these need, and what they need in turn, as an installer finds them."""
    found: dict[str, Distribution] = {}
    pending = [Requirement(name) for name in names]
    while pending:
        wanted = pending.pop()
        found[wanted.name] = distribution(wanted.name)
        for line in found[wanted.name].requires or ():
            more = Requirement(line)
            applies = more.marker is None or any(
                more.marker.evaluate({"extra": extra}) for extra in (wanted.extras or {""})
            )
            if applies and more.name not in found:
                pending.append(more)
    return found


@pytest.fixture
def client_alone(wheel: Path, tmp_path: Path) -> dict[str, str]:
    """An environment with the wheel and what it names without an extra, and nothing else."""
    installed = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(installed)
    [metadata] = installed.glob("*.dist-info/METADATA")
    lines = metadata.read_text().splitlines()
    base = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    for package in needed([line for line in base if "extra ==" not in line]).values():
        for top in {
            file.parts[0] for file in package.files or () if file.parts[0] not in {"..", "__pycache__"}
        }:
            link = installed / top
            if not link.exists():
                link.symlink_to(Path(str(package.locate_file(top))))
    return environment(str(installed))


def test_the_client_needs_celery_and_nothing_else(client_alone: dict[str, str], tmp_path: Path) -> None:
    program = (
        "import sys; from celery import Celery; from remand import Client, classify, handler;"
        "Client(Celery('shop', broker='memory://')); print(classify(ConnectionResetError()).category);"
        "sys.exit('sqlalchemy' in sys.modules)"
    )

    ran = subprocess.run(
        [sys.executable, "-S", "-c", program],
        cwd=tmp_path, env=client_alone, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert ran.stdout.strip() == "network"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_the_command_line_says_which_extra_is_missing(
    client_alone: dict[str, str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    ran = subprocess.run(
        [sys.executable, "-S", "-c", "from remand_app.cli.start import main; main()", "up", *options],
        cwd=tmp_path, env=client_alone, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 3
    # Where the command line tells any error: people on standard error, programs on standard output.
    told = json.loads(ran.stdout)["error"] if options else {"code": ran.stderr, "hint": ran.stderr}
    assert "EXTRA_MISSING" in told["code"]
    assert "pip install 'remand[server]'" in told["hint"]
    assert "Traceback" not in ran.stderr


def test_a_worker_says_which_extra_is_missing(client_alone: dict[str, str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-S", "-m", "celery", "-A", "remand_workers", "worker"],
        cwd=tmp_path, env=client_alone, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode != 0
    assert "a worker needs" in ran.stdout + ran.stderr
