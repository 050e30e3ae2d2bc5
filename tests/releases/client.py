"""What a program of the release that comes first on the path does; run by its path, not as a module.

client.py load NAME: submit workflows until `$SITE_FOLDER/stop-NAME` is there; their ids go to `loaded-NAME`.
client.py check: hold the database to the invariants of that release.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from app.bell import bell_to
from app.config import Settings
from app.engine.submit import Request, submit_many
from app.runtime import Runtime

FOLDER = Path(os.environ["SITE_FOLDER"])
URLS = {"database_url": os.environ["REMAND_DATABASE_URL"], "broker_url": os.environ["REMAND_BROKER_URL"]}


def load(name: str, runtime: Runtime) -> None:
    with (FOLDER / f"loaded-{name}").open("a", buffering=1) as ids:
        while not (FOLDER / f"stop-{name}").exists():
            for ref in ("site/chain", "site/diamond"):
                answers = submit_many(runtime.engine, ref, [Request({"seconds": 0.01})] * 2, by="load")
                ids.writelines(f"{answer.workflow_id}\n" for answer in answers)
            time.sleep(0.2)


def check(runtime: Runtime) -> None:
    from tests.support.invariants import check_invariants

    check_invariants(runtime.database, runtime.settings)


if __name__ == "__main__":
    made = Runtime(Settings.model_validate(URLS), bell=bell_to(URLS["broker_url"], "classic"))
    if sys.argv[1] == "load":
        load(sys.argv[2], made)
    else:
        check(made)
