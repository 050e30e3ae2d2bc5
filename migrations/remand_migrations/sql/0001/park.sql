-- Store results whose workflow row is locked by somebody else (it is not in p_got): the steps become
-- enqueued_for_orchestration and whoever settles next applies them. Returns the steps that were parked.
create or replace function remand.park(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_results jsonb[], p_worker uuid, p_got uuid[],
  p_now timestamptz)
returns table (workflow_id uuid, step text)
language plpgsql set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_workflows uuid[]; v_steps text[];
begin
  with ours as materialized (
    select q.workflow_id w, q.step n from remand.run_queue q join unnest(p_workflows, p_steps, p_attempts) g(w, n, a)
        on q.workflow_id = g.w and q.step = g.n and q.attempt = g.a
     where q.worker = p_worker and q.phase = 'claimed' and g.w <> all(coalesce(p_got, '{}'))
     order by 1, 2 for update of q),
  held as (
    update remand.run_queue q set phase = 'settling', lease_until = null from ours o
     where q.workflow_id = o.w and q.step = o.n
    returning q.workflow_id w, q.step n)
  select array_agg(h.w), array_agg(h.n) into v_workflows, v_steps from held h;
  perform remand.move_steps(v_workflows, v_steps, array['in_progress'], 'park', 'enqueued_for_orchestration',
                            'settle', null, p_now);
  update remand.steps s set result = g.r
    from unnest(p_workflows, p_steps, p_results) g(w, n, r), unnest(v_workflows, v_steps) k(w, n)
   where k.w = g.w and k.n = g.n and s.workflow_id = g.w and s.name = g.n;
  return query select k.w, k.n from unnest(v_workflows, v_steps) k(w, n);
end $$;
