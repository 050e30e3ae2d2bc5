-- Lock up to p_limit due steps of one lane for a claim, oldest or newest first; rows that others hold are
-- skipped, and so is what the claim has taken already.
create or replace function remand.claim_lane(
  p_queue text, p_namespace text, p_priority smallint, p_newest boolean, p_limit int, p_gated text[],
  p_workflows uuid[], p_steps text[], p_now timestamptz)
returns table (workflows uuid[], steps text[], suspects boolean[])
language plpgsql set enable_seqscan = off set jit = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set search_path = pg_catalog, pg_temp as $$
begin
  -- Twice the same but for the direction: an order that depends on a parameter reads no index.
  if p_newest then
    return query
    select array_agg(taken.workflow_id), array_agg(taken.step), array_agg(taken.suspect)
      from (select queued.workflow_id, queued.step, queued.suspect
              from remand.run_queue queued
             where queued.queue = p_queue
               and queued.phase = 'ready'
               and queued.namespace = p_namespace
               and queued.priority = p_priority
               and queued.due_at <= p_now
               and (queued.dependency <> all(p_gated) or queued.gate = 'passed')
               and not exists (select
                                 from unnest(p_workflows, p_steps) before(workflow_id, step)
                                where before.workflow_id = queued.workflow_id
                                  and before.step = queued.step)
             order by queued.due_at desc
             limit p_limit
               for update of queued skip locked) taken;
    return;
  end if;
  return query
  select array_agg(taken.workflow_id), array_agg(taken.step), array_agg(taken.suspect)
    from (select queued.workflow_id, queued.step, queued.suspect
            from remand.run_queue queued
           where queued.queue = p_queue
             and queued.phase = 'ready'
             and queued.namespace = p_namespace
             and queued.priority = p_priority
             and queued.due_at <= p_now
             and (queued.dependency <> all(p_gated) or queued.gate = 'passed')
             and not exists (select
                               from unnest(p_workflows, p_steps) before(workflow_id, step)
                              where before.workflow_id = queued.workflow_id
                                and before.step = queued.step)
           order by queued.due_at
           limit p_limit
             for update of queued skip locked) taken;
end $$;
