"""The name of a worker that was given none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remand_workers.naming import take_place

HOLD = """
import sys
from pathlib import Path
from remand_workers.naming import take_place
print(take_place(["steps"], Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


def test_workers_of_one_machine_have_names_of_their_own(tmp_path: Path) -> None:
    names = [take_place(["steps"], tmp_path) for _ in range(3)]
    assert len(set(names)) == 3
    assert all(name.startswith("steps-") for name in names)


def test_a_worker_that_listens_to_several_queues_is_called_so(tmp_path: Path) -> None:
    assert take_place(["steps", "gpu"], tmp_path).startswith("worker-")
    assert take_place([], tmp_path).startswith("worker-")


def test_who_comes_after_one_that_was_killed_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    names = []
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / "nodes")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={
                **os.environ,
                "REMAND_DATABASE_URL": "postgresql://nowhere/x",
                "REMAND_BROKER_URL": "redis://",
            },
        ) as holder:
            assert holder.stdout is not None
            names.append(holder.stdout.readline().strip())
            assert take_place(["steps"], tmp_path / "nodes") != names[0]
            holder.kill()
    assert names[0]
    assert names[0] == names[1]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_without_a_folder_of_its_own_a_name_is_new_each_time(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "nodes"
    if kind == "file":
        place.touch()
    else:
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    assert take_place(["steps"], place) != take_place(["steps"], place)
    assert not list(tmp_path.glob("elsewhere/*"))
