-- What the archive holds, a row for each period: a stable interface for people's own SQL.
create or replace view remand.v_archive_statistics as
  with signed as (
    select r.*, case r.kind when 'archive' then 1 else -1 end sign from remand.archive_runs r)
  select s.period, min(s.starts_at) starts_at, max(s.ends_at) ends_at,
         sum(s.sign * s.workflows)::bigint workflows, sum(s.sign * s.steps)::bigint steps,
         sum(s.sign * s.attempts)::bigint attempts, sum(s.sign * s.history)::bigint moves,
         (array_agg(s.bytes order by s.id desc))[1] bytes,
         bool_or(s.kind = 'archive' and s.path = 'period') moved_whole,
         coalesce(sum(s.workflows) filter (where s.kind = 'restore'), 0)::bigint restored,
         coalesce(sum(s.workflows) filter (where s.kind = 'drop'), 0)::bigint dropped,
         max(s.lock_ms) lock_ms,
         min(s.started_at) filter (where s.kind = 'archive') first_archived_at,
         max(s.ended_at) filter (where s.kind = 'archive') last_archived_at,
         bool_and(s.verified_at is not null) verified
    from signed s group by s.period;
