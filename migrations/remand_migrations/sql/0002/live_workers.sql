-- The incarnations that are alive: heartbeat within p_silent seconds, and either their advisory lock is held (the
-- server frees it the moment the main process dies) or the heartbeat is younger than p_gone seconds (poolers do not
-- keep session locks). For p_pause seconds after a restart of the server everybody gets the benefit of the doubt.
create or replace function remand.live_workers(
  p_gone float, p_silent float, p_pause float, p_now timestamptz default null)
returns setof remand.workers
language sql stable set search_path = pg_catalog, pg_temp as $$
  select w.* from remand.workers w
   where w.stopped_at is null
     and (clock_timestamp() < pg_postmaster_start_time() + make_interval(secs => p_pause)
          or (w.heartbeat_at > coalesce(p_now, clock_timestamp()) - make_interval(secs => p_silent)
              and (w.heartbeat_at > coalesce(p_now, clock_timestamp()) - make_interval(secs => p_gone)
                   or exists (select from pg_locks l
                               where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
                                 and l.database = (select d.oid from pg_database d where d.datname = current_database())
                                 and l.classid::bigint = ((w.lock_key >> 32) & 4294967295)
                                 and l.objid::bigint = (w.lock_key & 4294967295)))))
$$;
