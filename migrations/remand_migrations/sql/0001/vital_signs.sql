-- What tells whether workflows are alive. A step under a valid lease is (running), whatever its age; so is what waits
-- its turn in a queue that a live worker consumes. unheard_since: since when a step waits in a queue without a live
-- worker: not before the workers that are there now were, for they may all have been away. born_at: when it was
-- submitted, or when a person last sent it back or let it, or its queue, go on. queue: that of the step that waits
-- longest. p_settings: those of staleness, and gone, silent, pause of live_workers.
create or replace function remand.vital_signs(p_ids uuid[], p_settings jsonb, p_now timestamptz)
returns table (workflow_id uuid, template_id int, state text, created_at timestamptz, born_at timestamptz,
               sign_at timestamptz, stand text, unheard_since timestamptz, queue text)
language sql stable set enable_seqscan = off set jit = off as $$
  with work as materialized (select q.* from remand.run_queue q where q.workflow_id = any(p_ids)),
  queues as materialized (
    select * from remand.queue_life(array(select distinct w.queue from work w), p_settings, p_now)),
  rows as (
    select w.workflow_id, w.phase, w.queue, w.due_at, k.paused, k.resumed_at, w.gate,
           w.phase in ('ready', 'failed') open, w.phase = 'claimed' and w.lease_until > p_now runs,
           case when w.phase = 'claimed' then least(w.lease_until, p_now) end leased,
           w.phase in ('ready', 'failed') and not k.heard and not k.paused unheard,
           greatest(w.due_at, k.unheard_from) unheard_at
      from work w join queues k on k.queue = w.queue),
  told as materialized (
    select r.workflow_id, bool_or(r.runs) runs, max(r.leased) leased, max(r.resumed_at) resumed_at,
           max(r.due_at) filter (where r.phase = 'waiting' and r.gate is distinct from 'held') due_at,
           bool_or(r.gate is not distinct from 'held') held,
           bool_or(r.open and not r.unheard and not r.paused) turn, bool_or(r.open and r.paused) paused,
           min(r.unheard_at) filter (where r.unheard) unheard_since,
           (array_agg(r.queue order by r.unheard desc, r.paused desc, r.due_at))[1] queue
      from rows r group by r.workflow_id)
  select f.id, f.template_id, f.state, f.created_at, greatest(f.created_at, h.born_at, t.resumed_at),
         greatest(f.state_since, s.last_at, h.last_at, t.leased, t.due_at),
         case when f.state = 'blocked_by_failures' then 'blocked' when f.paused_at is not null then 'paused'
              when t.paused then 'queue_paused' when t.runs then 'running' when t.held then 'held_by_breaker'
              when t.turn then 'waits_its_turn' end,
         t.unheard_since, t.queue
    from remand.workflows f left join told t on t.workflow_id = f.id,
         lateral (select max(greatest(x.enqueued_at, x.started_at, x.ended_at)) last_at
                    from remand.steps x where x.workflow_id = f.id) s,
         lateral (select max(x.at) last_at, max(x.at) filter (
                           where x.kind = 'workflow' and x.event in ('reopen', 'resume')) born_at
                    from remand.history x where x.workflow_id = f.id) h
   where f.id = any(p_ids) and f.state not in ('complete', 'error', 'cancelled', 'resolved_manually')
$$;
