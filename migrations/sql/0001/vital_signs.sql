-- What tells whether workflows are alive. A step that a live worker runs under a valid lease is (running), whatever its
-- age; so is what waits its turn in a queue that a live worker consumes. unheard_*: the steps in queues without a live
-- worker, and since when each waits for one: not before the workers that are there now were, for they may all have been
-- away. born_at: when it was submitted, or when a person last sent it back or let it, or its queue, go on.
-- p_settings: those of staleness, and gone, silent, pause of live_workers.
create or replace function remand.vital_signs(p_ids uuid[], p_settings jsonb, p_now timestamptz)
returns table (workflow_id uuid, template_id int, state text, created_at timestamptz, born_at timestamptz,
               sign_at timestamptz, hold text, running boolean, waits_its_turn boolean, never_ready boolean,
               has_letter boolean, unheard_since timestamptz, unheard_steps text[], unheard_queues text[],
               unheard_at timestamptz[], queue text)
language sql stable set enable_seqscan = off as $$
  with alive as materialized (
    select w.id, w.queues, w.started_at
      from remand.live_workers((p_settings ->> 'gone')::float, (p_settings ->> 'silent')::float,
                               (p_settings ->> 'pause')::float, p_now) w),
  work as materialized (select q.* from remand.run_queue q where q.workflow_id = any(p_ids)),
  queues as materialized (
    select x.queue, x.heard, exists (select from remand.pauses z where z.queue = x.queue) paused,
           case when not x.heard then
             greatest((select max(w.heartbeat_at) from remand.workers w where x.queue = any(w.queues)),
                      (select min(a.started_at) from alive a)) end unheard_from,
           (select a.at from remand.audit_log a where a.kind = 'queue' and a.subject = x.queue
               and a.verb = 'queue.resume' order by a.id desc limit 1) resumed_at
      from (select y.queue, exists (select from alive a where y.queue = any(a.queues)) heard
              from (select distinct w.queue from work w) y) x),
  rows as (
    select w.workflow_id, w.step, w.phase, w.queue, w.gate, w.due_at, k.paused, k.resumed_at,
           w.phase in ('ready', 'failed') open, w.phase = 'claimed' and w.lease_until > p_now and a.id is not null runs,
           case when w.phase = 'claimed' then least(w.lease_until, coalesce(r.heartbeat_at, w.lease_until)) end leased,
           w.phase in ('ready', 'failed') and not k.heard and not k.paused unheard,
           greatest(w.due_at, s.enqueued_at, k.unheard_from) unheard_at
      from work w join queues k on k.queue = w.queue left join alive a on a.id = w.worker
      left join remand.workers r on r.id = w.worker
      left join remand.steps s on not k.heard and s.workflow_id = w.workflow_id and s.name = w.step),
  told as materialized (
    select r.workflow_id, bool_or(r.runs) runs, max(r.leased) leased, max(r.resumed_at) resumed_at,
           max(r.due_at) filter (where r.phase = 'waiting' and r.gate is distinct from 'held') due_at,
           coalesce(bool_or(r.gate = 'held'), false) held,
           bool_or(r.open and not r.unheard and not r.paused) turn, bool_and(r.open and r.paused) paused,
           min(r.unheard_at) filter (where r.unheard) unheard_since,
           array_agg(r.step order by r.unheard_at, r.step) filter (where r.unheard) steps,
           array_agg(r.queue order by r.unheard_at, r.step) filter (where r.unheard) queues,
           array_agg(r.unheard_at order by r.unheard_at, r.step) filter (where r.unheard) ats,
           (array_agg(r.queue order by r.unheard desc, r.paused desc, r.due_at))[1] queue
      from rows r group by r.workflow_id)
  select f.id, f.template_id, f.state, f.created_at, greatest(f.created_at, h.born_at, t.resumed_at),
         greatest(f.state_since, s.last_at, h.last_at, t.leased, t.due_at),
         case when f.paused_at is not null then 'paused' when t.paused then 'queue_paused'
              when t.held then 'held_by_breaker' end,
         coalesce(t.runs, false), coalesce(t.turn, false),
         t.workflow_id is null and f.hold is null and f.error_steps = 0
           and f.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies'),
         exists (select from remand.dead_letters d
                  where d.workflow_id = f.id and d.status in ('pending', 'investigating')),
         t.unheard_since, t.steps, t.queues, t.ats, t.queue
    from remand.workflows f left join told t on t.workflow_id = f.id,
         lateral (select max(greatest(x.enqueued_at, x.started_at, x.ended_at)) last_at
                    from remand.steps x where x.workflow_id = f.id) s,
         lateral (select max(x.at) last_at, max(x.at) filter (
                           where x.kind = 'workflow' and x.event in ('reopen', 'resume')) born_at
                    from remand.history x where x.workflow_id = f.id) h
   where f.id = any(p_ids) and f.state not in ('complete', 'error', 'cancelled', 'resolved_manually')
$$;
