-- Workflows that may be past what is allowed, or (p_warning) past the share of it that warns; p_unwarned:
-- only those that nobody was warned of. More than are, none that is left out. Range scans of live work alone:
-- the cost is that of what is found. What a person holds and what waits its turn in a queue with live workers
-- is not looked at before its lifetime is over.
create or replace function remand.stale_candidates(
  p_settings jsonb, p_now timestamptz, p_warning boolean, p_unwarned boolean default false)
returns setof uuid
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  -- Null, and so all of them, where no work goes on by itself.
  v_templates int[] := nullif(array(select remand.live_templates()), '{}');
  v_unheard text[];
  -- What gave no sign since then is past what is allowed to steps that run, to retries, to what only waits.
  v_process_bound timestamptz; v_retry_bound timestamptz; v_still_bound timestamptz;
  v_gaps tstzmultirange := (select swept.gaps from remand.queue_gaps('{}', p_settings, p_now) swept);
begin
  select p_now - make_interval(secs => min(cycle.in_process * used.share)),
         p_now - make_interval(secs => min(cycle.retry * used.share)),
         p_now - make_interval(secs => min(least(cycle.dependencies, cycle.other) * used.share))
    into v_process_bound, v_retry_bound, v_still_bound
    from remand.lifecycles(p_settings, v_templates) cycle,
         lateral (select case when p_warning then cycle.share else 1 end as share) used;
  v_unheard := array(select remand.unheard_queues(p_settings, p_now, v_process_bound));
  -- Each search says its order of joins (offset 0): what is live has no statistics that a plan could go by.
  return query
  select candidate.id
    from (
      -- Past their lifetime.
      select aged.id
        from remand.lifecycles(p_settings, v_templates) cycle,
             lateral (select case when p_warning then cycle.share else 1 end as share) used,
             lateral (select p_now - make_interval(secs => cycle.lifetime * used.share) as bound) born,
             lateral (select workflow.id
                        from remand.workflows workflow
                       where workflow.template_id = cycle.template_id
                         and workflow.paused_at is null
                         and not remand.is_final(workflow.state)
                         and workflow.state <> 'blocked_by_failures'
                         and workflow.created_at
                             <= born.bound - remand.passed_over(v_gaps, born.bound, p_now)
                      offset 0) aged
      union
      -- Ready where nobody listens.
      select ready.workflow_id
        from unnest(v_unheard) unheard(queue),
             lateral remand.claim_order(unheard.queue, 0, 0, p_now) lane,
             lateral (select queued.workflow_id
                        from remand.run_queue queued
                       where queued.phase = 'ready'
                         and queued.queue = unheard.queue
                         and queued.namespace = lane.namespace
                         and queued.priority = lane.priority
                         and queued.due_at <= v_process_bound
                      offset 0) ready
      union
      -- Failed, and nobody to decide.
      select failed.workflow_id
        from unnest(v_unheard) unheard(queue),
             lateral (select queued.workflow_id
                        from remand.run_queue queued
                       where queued.phase = 'failed'
                         and queued.queue = unheard.queue
                         and queued.due_at <= v_process_bound
                      offset 0) failed
      union
      -- Retries that nobody woke.
      select queued.workflow_id
        from remand.run_queue queued
       where queued.phase = 'waiting'
         and queued.gate is null
         and queued.due_at <= v_retry_bound
      union
      -- Results that nobody settled, claims that nobody took back.
      select queued.workflow_id
        from remand.run_queue queued
       where queued.phase = 'settling'
          or (queued.phase = 'claimed' and queued.lease_until <= v_process_bound)
      union
      -- States that nothing moved on.
      select workflow.id
        from remand.workflows workflow
       where workflow.state_since <= v_still_bound
         and workflow.state in ('pending', 'initializing', 'enqueuing_steps', 'evaluating_results',
                                'waiting_for_dependencies')) candidate(id),
         lateral (select
                    from remand.workflows workflow
                   where workflow.id = candidate.id
                     and (not p_unwarned or workflow.stale_warned_at is null)
                  offset 0) wanted;
end $$;
