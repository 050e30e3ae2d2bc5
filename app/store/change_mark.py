"""Tell whether anything changed: a few numbers that differ after a change. Reads them by one short query."""

from __future__ import annotations

from app.store.session import NOT_NOW, Database

_PULSE = """
select (select last_value from remand.history_seq),
       (select f.id from remand.workflows f order by f.id desc limit 1),
       (select a.id from remand.audit_log a order by a.id desc limit 1),
       (select n.id from remand.dead_letter_notes n order by n.id desc limit 1),
       (select count(*) from (select q.due_at from remand.run_queue q limit 500) x),
       (select md5(string_agg(concat_ws(',', r.id, r.state, r.sent, r.succeeded, r.failed, r.skipped), ';'))
          from (select id, state, sent, succeeded, failed, skipped
                  from remand.redrives order by id desc limit 20) r),
       (select count(*) from remand.workers w where w.stopped_at is null)
"""


def take(database: Database) -> tuple[object, ...] | None:
    """Return the numbers; None if the database is unreachable, which counts as a change. Transaction: own."""
    try:
        return tuple(database.call(_PULSE)[0])
    except NOT_NOW:
        return None
