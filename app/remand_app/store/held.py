"""Lock workflows against statements that both select and move workflows: these skip locked rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from uuid import UUID

from remand_app.store.connect import connect
from remand_app.store.database import Database

_HOLD = "select from remand.workflows where id = any(%s) order by id for update skip locked"
_HOLD_QUEUED = """
select from remand.run_queue where workflow_id = any(%s) order by workflow_id, step for update skip locked
"""


@contextmanager
def holding(database: Database, workflow_ids: Collection[UUID]) -> Iterator[None]:
    """Lock workflows and their run queue rows, except those that others have locked. Never waits.

    Transaction: own, on a connection beside the pool, for as long as the caller acts.
    """
    with closing(connect(database.url, application_name="remand sweep")) as connection:
        with connection.cursor() as cursor:
            for statement in (_HOLD, _HOLD_QUEUED):
                cursor.execute(statement, (list(workflow_ids),))
        yield
