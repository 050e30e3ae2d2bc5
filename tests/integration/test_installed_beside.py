"""An installed wheel beside a project whose own packages have the names of our folders."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"remand", "remand_app", "remand_examples", "remand_migrations", "remand_workers"}


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
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REMAND_", "PYTHON"))}
    # Without `site` the editable install's folders are not on the path; packages of others are named instead.
    path = os.pathsep.join((str(installed), str(folder), sysconfig.get_path("purelib")))
    return folder, {**kept, "PYTHONPATH": path, "REMAND_HANDLERS": "app.tasks"}


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
