"""Many dead letters, made by set-based SQL: as they would lie after a month of a busy site.

Every so manieth is open; causes are uneven, as causes are: a few groups hold much of it.
"""

from __future__ import annotations

from remand_app.store.database import Database

GROUPS = 5_000
DAYS = 27

# The triggers that count, and the foreign keys, would cost more than the rows: counted below, at once.
_QUIET = "set session_replication_role = replica; set synchronous_commit = off; set work_mem = '256MB'"

_ID = """
create or replace function pg_temp.id_at(p_ms bigint, p_n bigint) returns uuid language sql immutable as $$
  select (lpad(to_hex(p_ms), 12, '0') || '7' || left(md5(p_n::text), 3)
          || '8' || substr(md5(p_n::text), 4, 15))::uuid
$$
"""

_GROUPS = """
insert into remand.dead_letter_groups
  (id, fingerprint, cause, namespace, template, version, step, handler, error_class, message, category, state,
   state_since, owner, due_at, first_at, last_at, resolved_at, resolved_by, resolution)
select pg_temp.id_at(ms, -n), md5('f' || n), md5('c' || n), namespace, template, '1', step,
       namespace || '.' || step, error_class, 'no such thing: <n> of <n> in ' || step, category,
       state, at, case when state = 'investigating' then 'ada' end, null, at, at,
       case when state = 'resolved' then at end, case when state = 'resolved' then 'ada' end,
       case when state = 'resolved' then 'fixed upstream' end
  from (select n, now() - make_interval(days => %(days)s) as at,
               (extract(epoch from now() - make_interval(days => %(days)s)) * 1000)::bigint + n ms,
               'ns' || n %% 12 namespace, 'template' || n %% 40 template, 'step' || n %% 9 step,
               (array['httpx.ConnectTimeout', 'builtins.ValueError', 'psycopg2.errors.UniqueViolation',
                      'shop.NoStock', 'requests.exceptions.HTTPError'])[1 + n %% 5] error_class,
               (array['network', 'validation', 'validation', 'permanent', 'transient'])[1 + n %% 5] category,
               (array['open', 'open', 'open', 'investigating', 'resolved'])[1 + n %% 5] state
          from generate_series(1, %(groups)s) n) x
"""

_LETTERS = """
insert into remand.dead_letters
  (id, workflow_id, source, source_id, namespace, template, version, step, handler, queue, dead_queue,
   group_id, attempts, reason, category, policy, rule, error_class, error_message, worker, status, opened_at,
   triage_at, claimed_by, claimed_at, closed_by, closed_at, resolution, labels, snapshot, metadata)
select pg_temp.id_at(x.ms, x.n), pg_temp.id_at(x.ms - 5000, x.n + 100000000), 'step', 'w' || x.n || ':s:1',
       g.namespace, g.template, g.version, g.step, g.handler, 'steps', 'default', g.id, 3, x.reason,
       g.category,
       case when g.category in ('validation', 'permanent') then 'never' else 'exponential' end,
       'python.value', g.error_class, 'no such thing: ' || x.n || ' of ' || x.n %% 977 || ' in ' || g.step,
       'w' || x.n %% 8 || '@host' || x.n %% 4, x.status, x.at,
       x.at - make_interval(mins => case x.reason when 'max_retries_exceeded' then 30 else 60 end),
       case when x.status = 'investigating' then 'ada' end,
       case when x.status = 'investigating' then x.at end,
       case when x.status not in ('pending', 'investigating') then 'ada' end,
       case when x.status not in ('pending', 'investigating') then x.at + interval '1 hour' end, null,
       case when x.n %% 50 = 0 then array['vip'] else '{}' end,
       jsonb_build_object('input', jsonb_build_object('order', x.n, 'customer', repeat('x', 100)),
                          'template', g.namespace || '/' || g.template,
                          'steps', '[{"name": "a", "state": "complete"}]'::jsonb,
                          'last', md5(x.n::text)), '{"explanation": "no attempts are left"}'
  from (select n, (ms + n * 1000.0 * %(days)s * 86400.0 / %(letters)s)::bigint ms,
               to_timestamp((ms + n * 1000.0 * %(days)s * 86400.0 / %(letters)s)::bigint / 1000.0) as at,
               (array['max_retries_exceeded', 'permanent_failure', 'permanent_failure', 'staleness_timeout'])
                 [1 + n %% 4] reason,
               1 + (%(groups)s * power(((n::bigint * 7919) %% 100003) / 100003.0, 3))::int wanted,
               case when n %% (%(letters)s / %(open)s) = 0
                    then case when n %% 7 = 0 then 'investigating' else 'pending' end
                    else (array['requeued', 'manually_resolved', 'permanently_failed', 'cancelled'])
                         [1 + n %% 4] end status
          from generate_series(1, %(letters)s) n,
               (select (extract(epoch from now() - make_interval(days => %(days)s)) * 1000)::bigint ms) s) x
  join (select row_number() over (order by id) number, * from remand.dead_letter_groups) g
    on g.number = least(x.wanted, %(groups)s)
"""

_NOTES = """
insert into remand.dead_letter_notes (id, dead_letter_id, at, author, text)
select pg_temp.id_at((extract(epoch from l.opened_at) * 1000)::bigint, row_number() over () + 900000000 * k),
       l.id, l.opened_at, 'ada', 'looked at it, part ' || k
  from remand.dead_letters l, generate_series(1, 2) k where l.status = 'investigating'
"""

# What the share of workflows hit is reckoned from: as many that go well as become letters, of the last day.
_WORKFLOWS = """
insert into remand.templates (namespace, name, version, definition, hash, on_failure, created_at)
select distinct namespace, template, '1', '{}'::jsonb, md5(namespace || template), 'fail_fast', now()
  from remand.dead_letter_groups;
insert into remand.workflows
  (id, template_id, created_at, input, submitted_by, priority, state, state_since, open_steps)
select pg_temp.id_at((extract(epoch from at) * 1000)::bigint, n),
       1 + n % (select count(*) from remand.templates), at, '{}', 'bench', 5, 'complete', at, 0
  from (select n, now() - make_interval(secs => n * 86400.0 / 50000) as at from generate_series(1, 50000) n) x
"""

_COUNTS = """
insert into remand.dead_letter_counts
  (namespace, template, dead_queue, reason, category, policy, status, now, ever, closed_seconds)
select namespace, template, dead_queue, reason, category, policy, status, count(*), count(*),
       coalesce(sum(extract(epoch from closed_at - opened_at)), 0)
  from remand.dead_letters group by 1, 2, 3, 4, 5, 6, 7;
insert into remand.dead_letter_hours (group_id, hour, opened)
select group_id, date_trunc('hour', opened_at), count(*) from remand.dead_letters
 where opened_at > now() - interval '8 days' group by 1, 2;
update remand.dead_letter_groups g
   set letters = x.letters, open_letters = x.open, first_at = x.first, last_at = x.last
  from (select group_id, count(*) letters,
               count(*) filter (where status in ('pending', 'investigating')) open,
               min(opened_at) first, max(opened_at) last from remand.dead_letters group by 1) x
 where x.group_id = g.id
"""


def fill(database: Database, letters: int, open_letters: int) -> None:
    """Make letters, their groups, notes and counts."""
    given = {"letters": letters, "open": open_letters, "groups": min(GROUPS, letters // 10), "days": DAYS}
    with database.cursor() as cursor:
        cursor.execute(_QUIET)
        for sql in (_ID, _GROUPS, _LETTERS, _NOTES, _WORKFLOWS, _COUNTS):
            cursor.execute(sql, given if "%(" in sql else None)
        cursor.execute("reset all")
        cursor.execute("vacuum analyze remand.dead_letters")
        cursor.execute("vacuum analyze remand.dead_letter_groups")
        cursor.execute("analyze")
