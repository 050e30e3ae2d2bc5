"""Make a dump of a database with every kind of work; run with a tree's own code, before it is released.

python -m tests.releases.make /tmp/database.sql
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from tests.support.brokers import clean_broker
from tests.support.databases import Cluster
from tests.support.site import Site
from tests.support.waiting import eventually

_DUMP = (
    "pg_dump", "--inserts", "--load-via-partition-root", "--no-owner", "--no-privileges",
    "--no-toast-compression", "--schema=remand",
)  # fmt: skip
_ARCHIVE = """
select cardinality(batch.moved)
  from remand.archive_batch(
         to_char(now() at time zone 'UTC', 'YYYY_MM'), '00000000-0000-0000-0000-000000000000',
         'ffffffff-ffff-ffff-ffff-ffffffffffff', now() + interval '1 hour', '{}', 6) batch
"""


def main(path: Path, database_url: str, broker_url: str) -> None:
    """Fill a database by real workers, leave work of every kind in it, and write it down."""
    cluster = Cluster(database_url)
    with (
        cluster.template(),
        cluster.fresh() as url,
        clean_broker(broker_url, 0) as broker,
        tempfile.TemporaryDirectory() as folder,
        Site(Path(folder), url, broker) as site,
    ):
        fill(site)
        dumped = subprocess.run([*_DUMP, url], check=True, capture_output=True, text=True).stdout
        # What is said to psql alone, and talk.
        lines = [line for line in dumped.splitlines() if line and not line.startswith(("\\", "--"))]
        path.write_text("\n".join([f"-- made at {datetime.now(UTC).isoformat()}", *lines, ""]))


def fill(site: Site) -> None:
    """Leave workflows that are over, archived, dead, waiting, failed, parked, lost and not begun."""
    site.start_support()
    site.start_worker("steps", concurrency=2)
    site.ready("steps", "support")
    over = [*site.submit_many(6, "site/chain"), *site.submit_many(4, "site/diamond")]
    dead = [site.submit("site/chain", b={"give_up_on": [1]}) for _ in range(4)]
    eventually(lambda: site.states(over) == {"complete": len(over)}, timeout=60)
    eventually(lambda: site.states(dead) == {"blocked_by_failures": len(dead)}, timeout=60)
    archived = site.database.call(_ARCHIVE)
    assert archived[0][0] == 6
    later = site.submit_many(6, "site/chain")
    eventually(lambda: site.states(later) == {"complete": len(later)}, timeout=60)
    retrying = [site.submit("site/patient", fail_on=[1]) for _ in range(3)]
    eventually(lambda: site.states(retrying) == {"waiting_for_retry": len(retrying)}, timeout=60)
    site.kill("support")
    site.kill("beat")
    failed = [site.submit("site/one", fail_on=[1]) for _ in range(3)]
    eventually(lambda: phases(site).get("failed") == len(failed), timeout=60)
    parked = site.submit("site/chain", a={"hold_on": [1], "hold": "parked"})
    site.started(parked, step="a")
    with site.database.begin() as connection:
        connection.execute(sa.text("select from remand.workflows where id = :id for update"), {"id": parked})
        site.release("parked")
        eventually(lambda: phases(site).get("settling") == 1, timeout=60)
        lost = site.submit("site/one", hold_on=[1], hold="never")
        site.started(lost)
        site.kill("steps")
    site.submit_many(8, "site/chain")
    site.submit_many(4, "site/diamond")


def phases(site: Site) -> dict[str, int]:
    """Count the run queue by phase."""
    return dict(site.database.call("select phase, count(*) from remand.run_queue group by 1"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
