-- What tells whether workflows are alive. A step under a valid lease is (running), whatever its age; so is what waits
-- its turn in a queue that a live worker consumes. unheard_since: since when a step waits in a queue without a live
-- worker: not before the workers that are there now were, for they may all have been away. born_at: when it was
-- submitted, or when a person last sent it back or let it, or its queue, go on. queue: that of the step that waits
-- longest. Time in which nothing could go on (queue_gaps) does not count: the instants are later by it. p_settings:
-- those of staleness, and gone, silent, pause of live_workers, away of queue_gaps.
create or replace function remand.vital_signs(p_ids uuid[], p_settings jsonb, p_now timestamptz)
returns table (workflow_id uuid, template_id int, state text, created_at timestamptz, born_at timestamptz,
               sign_at timestamptz, stand text, unheard_since timestamptz, queue text)
language sql stable set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  with work as materialized (select q.* from remand.run_queue q where q.workflow_id = any(p_ids)),
  queues as materialized (
    select * from remand.queue_life(array(select distinct w.queue from work w), p_settings, p_now)),
  spans as materialized (
    select * from remand.queue_gaps(array(select k.queue from queues k), p_settings, p_now)),
  swept as materialized (select g.gaps from spans g where g.queue is null),
  rows as (
    select w.workflow_id, w.phase, w.queue, g.gaps, w.due_at, k.paused, k.resumed_at, w.gate,
           w.phase in ('ready', 'failed') open, w.phase = 'claimed' and w.lease_until > p_now runs,
           case when w.phase = 'claimed' then least(w.lease_until, p_now) end leased,
           w.phase in ('ready', 'failed') and not k.heard and not k.paused unheard,
           greatest(w.due_at, k.unheard_from) unheard_at
      from work w join queues k on k.queue = w.queue join spans g on g.queue = w.queue),
  told as materialized (
    select r.workflow_id, bool_or(r.runs) runs, max(r.leased) leased, max(r.resumed_at) resumed_at,
           max(r.due_at) filter (where r.phase = 'waiting' and r.gate is distinct from 'held') due_at,
           bool_or(r.gate is not distinct from 'held') held,
           bool_or(r.open and not r.unheard and not r.paused) turn, bool_or(r.open and r.paused) paused,
           min(r.unheard_at) filter (where r.unheard) unheard_since, range_agg(r.gaps) gaps,
           (array_agg(r.queue order by r.unheard desc, r.paused desc, r.due_at))[1] queue
      from rows r group by r.workflow_id)
  select f.id, f.template_id, f.state, f.created_at, i.born_at + remand.passed_over(g.gaps, i.born_at, p_now),
         i.sign_at + remand.passed_over(g.gaps, i.sign_at, p_now),
         case when f.state = 'blocked_by_failures' then 'blocked' when f.paused_at is not null then 'paused'
              when t.paused then 'queue_paused' when t.runs then 'running' when t.held then 'held_by_breaker'
              when t.turn then 'waits_its_turn' end,
         t.unheard_since + remand.passed_over(w.gaps, t.unheard_since, p_now), t.queue
    from remand.workflows f cross join swept w left join told t on t.workflow_id = f.id,
         lateral (select max(greatest(x.enqueued_at, x.started_at, x.ended_at)) last_at
                    from remand.steps x where x.workflow_id = f.id) s,
         lateral (select max(x.at) last_at, max(x.at) filter (
                           where x.kind = 'workflow' and x.event in ('reopen', 'resume')) born_at
                    from remand.history x where x.workflow_id = f.id) h,
         lateral (select coalesce(t.gaps, w.gaps) gaps) g,
         lateral (select greatest(f.created_at, h.born_at, t.resumed_at) born_at,
                         greatest(f.state_since, s.last_at, h.last_at, t.leased, t.due_at) sign_at) i
   where f.id = any(p_ids) and f.state not in ('complete', 'error', 'cancelled', 'resolved_manually')
$$;
