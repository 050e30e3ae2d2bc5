"""Tell whether anything changed: a few numbers that differ after a change. Reads them by one short query."""

from __future__ import annotations

from remand_app.store.database import NOT_NOW, Database

_PULSE = """
select (select last_value from remand.history_seq),
       (select id from remand.workflows order by id desc limit 1),
       (select id from remand.audit_log order by id desc limit 1),
       (select id from remand.dead_letter_notes order by id desc limit 1),
       (select count(*) from (select due_at from remand.run_queue limit 500) queued),
       (select md5(string_agg(concat_ws(',', redrive.id, redrive.state, redrive.sent, redrive.succeeded,
                                        redrive.failed, redrive.skipped), ';'))
          from (select id, state, sent, succeeded, failed, skipped
                  from remand.redrives
                 order by id desc
                 limit 20) redrive),
       (select count(*) from remand.workers where stopped_at is null)
"""


def take(database: Database) -> tuple[object, ...] | None:
    """Return the numbers; None if the database is unreachable, which counts as a change. Transaction: own."""
    try:
        return tuple(database.call(_PULSE)[0])
    except NOT_NOW:
        return None
