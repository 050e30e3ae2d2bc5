-- Note which queues have workers now, and which spans of time they had none; the ring sweep calls it. A queue
-- is served while a worker of it is heard, remand.maintenance while this is called. p_away: seconds without
-- either from which a span counts. Writes a few times a minute at most. Nothing is known before the first
-- note of a queue: it had none then.
create or replace function remand.note_service(p_silent float, p_away float, p_now timestamptz default null)
returns void
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  -- How many spans a queue keeps, the newest: a queue that comes and goes must not make its row grow.
  v_spans_kept constant int := 100;
  v_now timestamptz := coalesce(p_now, clock_timestamp());
begin
  -- Six notes within the shortest span that counts: none is missed, and few are written.
  if exists (select
               from remand.queue_service service
              where service.queue = 'remand.maintenance'
                and service.served_at > v_now - make_interval(secs => p_away / 6)) then
    return;
  end if;
  insert into remand.queue_service as service (queue, served_at, unserved)
    select heard.queue, v_now, tstzmultirange(tstzrange(null, v_now))
      from (select 'remand.maintenance' as queue
            union
            select unnest(worker.queues)
              from remand.workers worker
             where worker.stopped_at is null
               and worker.heartbeat_at > v_now - make_interval(secs => p_silent)) heard
     order by heard.queue
    on conflict (queue) do update
      set served_at = excluded.served_at,
          unserved = case
            when service.served_at is null then excluded.unserved
            when service.served_at < v_now - make_interval(secs => p_away)
              then (select range_agg(newest.span)
                      from (select gap.span
                              from unnest(service.unserved
                                          + tstzmultirange(tstzrange(service.served_at, v_now))) gap(span)
                             order by gap.span desc
                             limit v_spans_kept) newest)
            else service.unserved
          end
    where service.served_at is null
       or service.served_at < excluded.served_at;
  -- Code of revision 0001 that runs beside us says in the audit log alone that a queue goes on.
  update remand.queue_service service
     set resumed_at = resumed.at
    from (select known.queue,
                 (select entry.at
                    from remand.audit_log entry
                   where entry.kind = 'queue'
                     and entry.subject = known.queue
                     and entry.verb = 'queue.resume'
                   order by entry.id desc
                   limit 1) as at
            from remand.queue_service known) resumed
   where service.queue = resumed.queue
     and resumed.at > coalesce(service.resumed_at, '-infinity');
end $$;
