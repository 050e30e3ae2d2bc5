"""A Postgres on a disk of its own: `unshare -m python -m tests.support.small_disk FOLDER MEGABYTES`.

Says its URL and runs until standard input ends. The disk is seen by its processes alone, and ends with them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from remand_app.embedded.stack import Stack
from tests.support.servers import POSTGRES_OPTIONS


def main(folder: Path, megabytes: int) -> None:
    """Mount the disk, run the servers on it, and stop them when nobody needs them any more."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", folder], check=True)
    with Stack(folder / "servers", postgres_options=POSTGRES_OPTIONS) as up:
        print(up.database_url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
