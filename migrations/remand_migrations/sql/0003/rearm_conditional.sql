-- Send back to pending what ran, or was skipped, because of how given steps had ended: they run again, or are
-- done after all, and what follows their end is to follow the new one. With it what is behind it. What runs
-- is let end.
-- The caller holds the workflows' rows and evaluates them afterwards.
create or replace function remand.rearm_conditional(
  p_workflows uuid[], p_steps text[], p_by text, p_reason text, p_now timestamptz)
returns void
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_workflow record;
begin
  for v_workflow in
    with recursive behind as (
      select step.workflow_id, step.name, step.children, false as conditional
        from unnest(p_workflows, p_steps) given(workflow_id, name)
        join remand.workflows workflow on workflow.id = given.workflow_id and workflow.conditional
        join remand.steps step on step.workflow_id = given.workflow_id and step.name = given.name
      union
      select child.workflow_id, child.name, child.children, behind.conditional or child.after is not null
        from behind, unnest(behind.children) named(name), remand.steps child
       where child.workflow_id = behind.workflow_id
         and child.name = named.name)
    select behind.workflow_id as id, array_agg(distinct behind.name) as steps
      from behind
      join remand.steps step on step.workflow_id = behind.workflow_id and step.name = behind.name
     where behind.conditional
       and step.state in ('complete', 'resolved_manually', 'cancelled', 'enqueued', 'waiting_for_retry')
     group by behind.workflow_id
  loop
    perform remand.restart_steps(v_workflow.id, v_workflow.steps, p_by, p_reason, p_now);
  end loop;
end $$;
