-- What the archive holds, a row for each period: a stable interface for people's own SQL.
create or replace view remand.v_archive_statistics as
  with signed as (
    select run.*,
           case run.kind when 'archive' then 1 when 'export' then 0 else -1 end as sign
      from remand.archive_runs run)
  select signed.period,
         min(signed.starts_at) as starts_at,
         max(signed.ends_at) as ends_at,
         sum(signed.sign * signed.workflows)::bigint as workflows,
         sum(signed.sign * signed.steps)::bigint as steps,
         sum(signed.sign * signed.attempts)::bigint as attempts,
         sum(signed.sign * signed.history)::bigint as moves,
         (array_agg(signed.bytes order by signed.id desc))[1] as bytes,
         bool_or(signed.kind = 'archive' and signed.path = 'period' and signed.workflows > 0) as moved_whole,
         coalesce(sum(signed.workflows) filter (where signed.kind = 'restore'), 0)::bigint as restored,
         coalesce(sum(signed.workflows) filter (where signed.kind = 'drop'), 0)::bigint as dropped,
         max(signed.ended_at) filter (where signed.kind = 'export') as exported_at,
         max(signed.lock_ms) as lock_ms,
         min(signed.started_at) filter (where signed.kind = 'archive') as first_archived_at,
         max(signed.ended_at) filter (where signed.kind = 'archive') as last_archived_at,
         bool_and(signed.verified_at is not null) as verified
    from signed
   group by signed.period;
comment on view remand.v_archive_statistics
  is 'What the archive holds and how it came there, a row for each period.';
comment on column remand.v_archive_statistics.period is 'its name; default: rows of no period';
comment on column remand.v_archive_statistics.starts_at is 'first instant of it; null: no period';
comment on column remand.v_archive_statistics.ends_at is 'first instant after it; null: no period';
comment on column remand.v_archive_statistics.workflows is 'workflows that are in the archive now';
comment on column remand.v_archive_statistics.steps is 'their steps';
comment on column remand.v_archive_statistics.attempts
  is 'their rows of attempts: of steps that went well at once there is none';
comment on column remand.v_archive_statistics.moves is 'their rows of history';
comment on column remand.v_archive_statistics.bytes
  is 'size of its tables in the archive after the last run, in bytes, indexes included';
comment on column remand.v_archive_statistics.moved_whole
  is 'whether its tables went over as they were, and not row by row';
comment on column remand.v_archive_statistics.restored is 'workflows that were brought back';
comment on column remand.v_archive_statistics.dropped is 'workflows that were dropped for good';
comment on column remand.v_archive_statistics.exported_at is 'when it was last written to files; null: never';
comment on column remand.v_archive_statistics.lock_ms
  is 'longest time that a run locked live work out, in milliseconds; null: none did';
comment on column remand.v_archive_statistics.first_archived_at is 'when the first run began; null: none was';
comment on column remand.v_archive_statistics.last_archived_at is 'when the last run ended; null: none was';
comment on column remand.v_archive_statistics.verified
  is 'whether the checksum of every run was found again afterwards';
