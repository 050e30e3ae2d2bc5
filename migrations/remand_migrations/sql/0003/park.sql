-- Store results whose workflow row is locked by somebody else (it is not in p_got): the steps become
-- enqueued_for_orchestration and whoever settles next applies them. Returns the steps that were parked.
create or replace function remand.park(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_results jsonb[], p_worker uuid, p_got uuid[],
  p_now timestamptz)
returns table (workflow_id uuid, step text)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_workflows uuid[]; v_steps text[];
begin
  with ours as materialized (
    select queued.workflow_id, queued.step
      from remand.run_queue queued
      join unnest(p_workflows, p_steps, p_attempts) given(workflow_id, step, attempt)
        on queued.workflow_id = given.workflow_id
       and queued.step = given.step
       and queued.attempt = given.attempt
     where queued.worker = p_worker
       and queued.phase = 'claimed'
       and given.workflow_id <> all(coalesce(p_got, '{}'))
     order by 1, 2
       for update of queued
  ),
  held as (
    update remand.run_queue queued
       set phase = 'settling', lease_until = null
      from ours
     where queued.workflow_id = ours.workflow_id
       and queued.step = ours.step
    returning queued.workflow_id, queued.step
  )
  select array_agg(held.workflow_id), array_agg(held.step) into v_workflows, v_steps from held;
  perform remand.move_steps(
    v_workflows, v_steps, array['in_progress'], 'park', 'enqueued_for_orchestration', 'settle', null, p_now);
  update remand.steps step
     set result = given.result
    from unnest(p_workflows, p_steps, p_results) given(workflow_id, name, result),
         unnest(v_workflows, v_steps) parked(workflow_id, name)
   where parked.workflow_id = given.workflow_id
     and parked.name = given.name
     and step.workflow_id = given.workflow_id
     and step.name = given.name;
  return query
  select parked.workflow_id, parked.name
    from unnest(v_workflows, v_steps) parked(workflow_id, name);
end $$;
