-- The queues with work, ready or failed, that no live worker consumes, and none has since p_before; a paused
-- queue is none of them. Found by steps through indexes: the cost is that of the queues, not of what lies in
-- them.
create or replace function remand.unheard_queues(p_settings jsonb, p_now timestamptz, p_before timestamptz)
returns setof text
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  with recursive ready as (
    (select queued.queue
       from remand.run_queue queued
      where queued.phase = 'ready'
      order by queued.queue
      limit 1)
    union all
    select (select queued.queue
              from remand.run_queue queued
             where queued.phase = 'ready'
               and queued.queue > ready.queue
             order by queued.queue
             limit 1)
      from ready
     where ready.queue is not null),
  failed as (
    (select queued.queue
       from remand.run_queue queued
      where queued.phase = 'failed'
      order by queued.queue
      limit 1)
    union all
    select (select queued.queue
              from remand.run_queue queued
             where queued.phase = 'failed'
               and queued.queue > failed.queue
             order by queued.queue
             limit 1)
      from failed
     where failed.queue is not null),
  working as (
    select ready.queue
      from ready
     where ready.queue is not null
    union
    select failed.queue
      from failed
     where failed.queue is not null)
  select liveness.queue
    from remand.queue_liveness(array(select working.queue from working), p_settings, p_now) liveness
   where not liveness.heard
     and not liveness.paused
     and coalesce(liveness.unheard_from <= p_before, true)
$$;
