-- Whether live workers consume queues. unheard_from: since when none does, as far as is known: not before the workers
-- that are there now were. resumed_at: when a person last let the queue go on.
create or replace function remand.queue_life(p_queues text[], p_settings jsonb, p_now timestamptz)
returns table (queue text, heard boolean, paused boolean, unheard_from timestamptz, resumed_at timestamptz)
language sql stable set enable_seqscan = off set jit = off as $$
  with alive as materialized (
    select w.queues, w.started_at
      from remand.live_workers((p_settings ->> 'gone')::float, (p_settings ->> 'silent')::float,
                               (p_settings ->> 'pause')::float, p_now) w)
  select u.queue, exists (select from alive a where u.queue = any(a.queues)),
         exists (select from remand.pauses z where z.queue = u.queue),
         greatest((select max(w.heartbeat_at) from remand.workers w where u.queue = any(w.queues)),
                  (select min(a.started_at) from alive a)),
         (select a.at from remand.audit_log a where a.kind = 'queue' and a.subject = u.queue
             and a.verb = 'queue.resume' order by a.id desc limit 1)
    from unnest(p_queues) u(queue)
$$;
