-- Note which queues have workers now, and which spans of time they had none; the ring sweep calls it. A queue is served
-- while a worker of it is heard, remand.maintenance while this is called. p_away: seconds without either from which a
-- span counts. Writes a few times a minute at most. Nothing is known before the first note of a queue: it had none then.
create or replace function remand.note_service(p_silent float, p_away float, p_now timestamptz default null)
returns void
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
begin
  if exists (select from remand.queue_service s
              where s.queue = 'remand.maintenance' and s.served_at > t - make_interval(secs => p_away / 6)) then
    return;
  end if;
  insert into remand.queue_service as s (queue, served_at, unserved)
  select heard.queue, t, tstzmultirange(tstzrange(null, t))
    from (select 'remand.maintenance' queue
          union
          select unnest(worker.queues)
            from remand.workers worker
           where worker.stopped_at is null
             and worker.heartbeat_at > t - make_interval(secs => p_silent)) heard
   order by heard.queue
      on conflict (queue) do update
     set served_at = excluded.served_at,
         unserved = case
           when s.served_at is null then excluded.unserved
           when s.served_at < t - make_interval(secs => p_away)
             then (select range_agg(span.span)
                     from (select each.span
                             from unnest(s.unserved + tstzmultirange(tstzrange(s.served_at, t))) each(span)
                            order by each.span desc
                            limit 100) span)
           else s.unserved
         end
   where s.served_at is null or s.served_at < excluded.served_at;
  -- Code of revision 0001 that runs beside us says in the audit log alone that a queue goes on.
  update remand.queue_service s
     set resumed_at = told.at
    from (select service.queue,
                 (select entry.at
                    from remand.audit_log entry
                   where entry.kind = 'queue' and entry.subject = service.queue and entry.verb = 'queue.resume'
                   order by entry.id desc
                   limit 1) at
            from remand.queue_service service) told
   where s.queue = told.queue and told.at > coalesce(s.resumed_at, '-infinity');
end $$;
