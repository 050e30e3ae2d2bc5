-- What tells whether workflows are alive. A step under a valid lease is (running), whatever its age; so is
-- what waits its turn in a queue that a live worker consumes. unheard_since: since when a step waits in a
-- queue without a live worker: not before the workers that are there now were, for they may all have been
-- away. born_at: when it was submitted, or when a person last sent it back or let it, or its queue, go on.
-- queue: that of the step that waits longest. Time in which nothing could go on (queue_gaps) does not count:
-- the instants are later by it. p_settings:
-- those of staleness, and gone, silent, pause of live_workers, away of queue_gaps.
create or replace function remand.workflow_liveness(p_ids uuid[], p_settings jsonb, p_now timestamptz)
returns table (workflow_id uuid, template_id int, state text, created_at timestamptz, born_at timestamptz,
               sign_at timestamptz, stand text, unheard_since timestamptz, queue text)
language sql stable set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  with queued as materialized (
    select run_queue.*
      from remand.run_queue
     where run_queue.workflow_id = any(p_ids)),
  queue as materialized (
    select *
      from remand.queue_liveness(array(select distinct queued.queue from queued), p_settings, p_now)),
  gap as materialized (
    select *
      from remand.queue_gaps(array(select queue.queue from queue), p_settings, p_now)),
  unswept as materialized (
    select gap.gaps
      from gap
     where gap.queue is null),
  seen as (
    select queued.workflow_id, queued.phase, queued.queue, gap.gaps, queued.due_at, queue.paused,
           queue.resumed_at, queued.gate,
           queued.phase in ('ready', 'failed') as open,
           queued.phase = 'claimed' and queued.lease_until > p_now as runs,
           case when queued.phase = 'claimed' then least(queued.lease_until, p_now) end as leased,
           queued.phase in ('ready', 'failed') and not queue.heard and not queue.paused as unheard,
           greatest(queued.due_at, queue.unheard_from) as unheard_at
      from queued
      join queue on queue.queue = queued.queue
      join gap on gap.queue = queued.queue),
  work as materialized (
    select seen.workflow_id,
           bool_or(seen.runs) as runs,
           max(seen.leased) as leased,
           max(seen.resumed_at) as resumed_at,
           max(seen.due_at) filter (
             where seen.phase = 'waiting' and seen.gate is distinct from 'held') as due_at,
           bool_or(seen.gate is not distinct from 'held') as held,
           bool_or(seen.open and not seen.unheard and not seen.paused) as turn,
           bool_or(seen.open and seen.paused) as paused,
           min(seen.unheard_at) filter (where seen.unheard) as unheard_since,
           range_agg(seen.gaps) as gaps,
           (array_agg(seen.queue order by seen.unheard desc, seen.paused desc, seen.due_at))[1] as queue
      from seen
     group by seen.workflow_id)
  select workflow.id, workflow.template_id, workflow.state, workflow.created_at,
         instant.born_at + remand.passed_over(away.gaps, instant.born_at, p_now),
         instant.sign_at + remand.passed_over(away.gaps, instant.sign_at, p_now),
         case when workflow.state = 'blocked_by_failures' then 'blocked'
              when workflow.paused_at is not null then 'paused'
              when work.paused then 'queue_paused'
              when work.runs then 'running'
              when work.held then 'held_by_breaker'
              when work.turn then 'waits_its_turn'
         end,
         work.unheard_since + remand.passed_over(unswept.gaps, work.unheard_since, p_now),
         work.queue
    from remand.workflows workflow
   cross join unswept
    left join work on work.workflow_id = workflow.id,
         lateral (select max(greatest(step.enqueued_at, step.started_at, step.ended_at)) as last_at
                    from remand.steps step
                   where step.workflow_id = workflow.id) step,
         lateral (select max(move.at) as last_at,
                         max(move.at) filter (
                           where move.kind = 'workflow' and move.event in ('reopen', 'resume')) as born_at
                    from remand.history move
                   where move.workflow_id = workflow.id) move,
         lateral (select coalesce(work.gaps, unswept.gaps) as gaps) away,
         lateral (select greatest(workflow.created_at, move.born_at, work.resumed_at) as born_at,
                         greatest(workflow.state_since, step.last_at, move.last_at, work.leased, work.due_at)
                           as sign_at) instant
   where workflow.id = any(p_ids)
     and not remand.is_final(workflow.state)
$$;
