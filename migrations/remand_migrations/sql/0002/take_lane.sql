-- Lock up to p_limit due steps of one lane for a claim, oldest or newest first; rows that others hold are skipped,
-- and so is what the claim has taken already.
create or replace function remand.take_lane(
  p_queue text, p_namespace text, p_priority smallint, p_newest boolean, p_limit int, p_gated text[],
  p_workflows uuid[], p_steps text[], p_now timestamptz)
returns table (workflows uuid[], steps text[], suspects boolean[])
language plpgsql set enable_seqscan = off set jit = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
begin
  if p_newest then
    return query
    select array_agg(x.workflow_id), array_agg(x.step), array_agg(x.suspect)
      from (select q.workflow_id, q.step, q.suspect from remand.run_queue q
             where q.queue = p_queue and q.phase = 'ready' and q.namespace = p_namespace and q.priority = p_priority
               and q.due_at <= p_now and (q.dependency <> all(p_gated) or q.gate = 'passed')
               and not exists (select from unnest(p_workflows, p_steps) g(w, n) where g.w = q.workflow_id and g.n = q.step)
             order by q.due_at desc limit p_limit for update of q skip locked) x;
  else
    return query
    select array_agg(x.workflow_id), array_agg(x.step), array_agg(x.suspect)
      from (select q.workflow_id, q.step, q.suspect from remand.run_queue q
             where q.queue = p_queue and q.phase = 'ready' and q.namespace = p_namespace and q.priority = p_priority
               and q.due_at <= p_now and (q.dependency <> all(p_gated) or q.gate = 'passed')
               and not exists (select from unnest(p_workflows, p_steps) g(w, n) where g.w = q.workflow_id and g.n = q.step)
             order by q.due_at limit p_limit for update of q skip locked) x;
  end if;
end $$;
