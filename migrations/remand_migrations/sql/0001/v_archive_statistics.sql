-- What the archive holds, a row for each period: a stable interface for people's own SQL.
create or replace view remand.v_archive_statistics as
  with signed as (
    select r.*, case r.kind when 'archive' then 1 when 'export' then 0 else -1 end sign from remand.archive_runs r)
  select s.period, min(s.starts_at) starts_at, max(s.ends_at) ends_at,
         sum(s.sign * s.workflows)::bigint workflows, sum(s.sign * s.steps)::bigint steps,
         sum(s.sign * s.attempts)::bigint attempts, sum(s.sign * s.history)::bigint moves,
         (array_agg(s.bytes order by s.id desc))[1] bytes,
         bool_or(s.kind = 'archive' and s.path = 'period' and s.workflows > 0) moved_whole,
         coalesce(sum(s.workflows) filter (where s.kind = 'restore'), 0)::bigint restored,
         coalesce(sum(s.workflows) filter (where s.kind = 'drop'), 0)::bigint dropped,
         max(s.ended_at) filter (where s.kind = 'export') exported_at,
         max(s.lock_ms) lock_ms,
         min(s.started_at) filter (where s.kind = 'archive') first_archived_at,
         max(s.ended_at) filter (where s.kind = 'archive') last_archived_at,
         bool_and(s.verified_at is not null) verified
    from signed s group by s.period;
comment on view remand.v_archive_statistics is 'What the archive holds and how it came there, a row for each period.';
comment on column remand.v_archive_statistics.period is 'its name; default: rows of no period';
comment on column remand.v_archive_statistics.starts_at is 'first instant of it; null: no period';
comment on column remand.v_archive_statistics.ends_at is 'first instant after it; null: no period';
comment on column remand.v_archive_statistics.workflows is 'workflows that are in the archive now';
comment on column remand.v_archive_statistics.steps is 'their steps';
comment on column remand.v_archive_statistics.attempts is 'their rows of attempts: of steps that went well at once there is none';
comment on column remand.v_archive_statistics.moves is 'their rows of history';
comment on column remand.v_archive_statistics.bytes is 'size of its tables in the archive after the last run, in bytes, indexes included';
comment on column remand.v_archive_statistics.moved_whole is 'whether its tables went over as they were, and not row by row';
comment on column remand.v_archive_statistics.restored is 'workflows that were brought back';
comment on column remand.v_archive_statistics.dropped is 'workflows that were dropped for good';
comment on column remand.v_archive_statistics.exported_at is 'when it was last written to files; null: never';
comment on column remand.v_archive_statistics.lock_ms is 'longest time that a run locked live work out, in milliseconds; null: none did';
comment on column remand.v_archive_statistics.first_archived_at is 'when the first run began; null: none was';
comment on column remand.v_archive_statistics.last_archived_at is 'when the last run ended; null: none was';
comment on column remand.v_archive_statistics.verified is 'whether the checksum of every run was found again afterwards';
