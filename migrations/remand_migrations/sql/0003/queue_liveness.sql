-- Whether live workers consume queues. unheard_from: since when none does, as far as is known: not before the
-- workers that are there now were. resumed_at: when a person last let the queue go on.
create or replace function remand.queue_liveness(p_queues text[], p_settings jsonb, p_now timestamptz)
returns table (queue text, heard boolean, paused boolean, unheard_from timestamptz, resumed_at timestamptz)
language sql stable set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  with alive as materialized (
    select worker.queues, worker.started_at
      from remand.live_workers((p_settings ->> 'gone')::float, (p_settings ->> 'silent')::float,
                               (p_settings ->> 'pause')::float, p_now) worker)
  select given.queue,
         exists (select
                   from alive
                  where given.queue = any(alive.queues)),
         exists (select
                   from remand.pauses pause
                  where pause.queue = given.queue),
         greatest((select max(worker.heartbeat_at)
                     from remand.workers worker
                    where given.queue = any(worker.queues)),
                  (select min(alive.started_at) from alive)),
         (select service.resumed_at
            from remand.queue_service service
           where service.queue = given.queue)
    from unnest(p_queues) given(queue)
$$;
