-- The incarnations that are alive: heartbeat within p_silent seconds, and either their advisory lock is held
-- (the server frees it the moment the main process dies) or the heartbeat is younger than p_gone seconds
-- (poolers do not keep session locks). For p_pause seconds after a restart of the server everybody gets the
-- benefit of the doubt.
create or replace function remand.live_workers(
  p_gone float, p_silent float, p_pause float, p_now timestamptz default null)
returns setof remand.workers
language sql stable set search_path = pg_catalog, pg_temp as $$
  select worker.*
    from remand.workers worker
   where worker.stopped_at is null
     and (clock_timestamp() < pg_postmaster_start_time() + make_interval(secs => p_pause)
          or (worker.heartbeat_at > coalesce(p_now, clock_timestamp()) - make_interval(secs => p_silent)
              and (worker.heartbeat_at > coalesce(p_now, clock_timestamp()) - make_interval(secs => p_gone)
                   or exists (
                     select
                       from pg_locks held
                      where held.locktype = 'advisory'
                        and held.objsubid = 1
                        and held.granted
                        and held.database = (select this.oid
                                               from pg_database this
                                              where this.datname = current_database())
                        and held.classid::bigint = ((worker.lock_key >> 32) & 4294967295)
                        and held.objid::bigint = (worker.lock_key & 4294967295)))))
$$;
