"""Finished workflows by the million, made by SQL: what a site that has run for long holds."""

from __future__ import annotations

from remand_app.domain.partitions import Interval, whole_period
from remand_app.store import new_periods
from remand_app.store.database import Database
from remand_app.store.new_periods import Patience

_SLICE = 100_000
# An id of the instant the workflow was made at, as `remand.new_uuid7` makes them of now.
_ID = """
encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
  placing substring(int8send(floor(extract(epoch from t.at) * 1000)::bigint) from 3) from 1 for 6),
  52, 1), 53, 1), 'hex')::uuid
"""
_FILL = f"""
with made as materialized (
  select {_ID} id, t.at, n
    from generate_series(%(first)s, %(last)s) n,
         lateral (select cast(%(since)s as timestamptz)
                         + (cast(%(until)s as timestamptz) - %(since)s) * (n::float8 / %(of)s) as at) t),
stored as (
  insert into remand.workflows
    (id, template_id, created_at, input, submitted_by, priority, state, state_since, open_steps)
  select m.id, %(template)s, m.at, jsonb_build_object('n', m.n, 'customer', repeat('x', 100)), 'bench', 4,
         'complete', m.at + interval '2 s', 0
    from made m)
insert into remand.steps
  (workflow_id, name, position, handler, queue, priority, commit_each, depends_on, children, state,
   open_parents, attempt, enqueued_at, started_at, ended_at, result)
select m.id, s.name, s.position, s.handler, s.queue, 4, false, s.depends_on, s.children, 'complete', 0, 1,
       m.at, m.at + interval '1 s', m.at + interval '2 s', jsonb_build_object('n', m.n)
  from made m, remand.template_steps s where s.template_id = %(template)s
"""


def fill(database: Database, ref: str, workflows: int, since: str, until: str) -> None:
    """Store complete workflows of a template, made evenly between two instants (SQL expressions).

    Transaction: one for each hundred thousand. Ends with the statistics that autovacuum would take.
    """
    namespace, _, name = ref.partition("/")
    template = database.call(
        "select max(id) from remand.templates where namespace = %s and name = %s", (namespace, name)
    )[0][0]
    bounds = database.call(f"select {since}, {until}")[0]
    for first in range(1, workflows + 1, _SLICE):
        last = min(first + _SLICE - 1, workflows)
        given = {"first": first, "last": last, "of": workflows, "template": template}
        database.call(_FILL, {**given, "since": bounds[0], "until": bounds[1]})
    for table in ("workflows", "steps"):
        database.call(f"vacuum (analyze) remand.{table}")


def partitions_since(database: Database, since: str) -> None:
    """Make the partitions of the months from an instant (an SQL expression of now) until now."""
    [(at, now)] = database.call(f"select {since}, now()")
    while at <= now:
        month = whole_period(Interval.MONTHLY, at)
        new_periods.make_period(database, month, now, Patience())
        at = month.ends_at
