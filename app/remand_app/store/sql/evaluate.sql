-- Enqueue every pending step whose parents are satisfied, then roll the workflows up; the caller holds their
-- rows. Used after an operator's decision. Returns the queues that got work.
create or replace function remand.evaluate(p_ids uuid[], p_by text, p_now timestamptz) returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_workflows uuid[]; v_steps text[]; v_queues text[];
begin
  -- Count anew the parents that a step still waits for.
  update remand.steps step
     set open_parents = counted.parents
    from (select child.workflow_id, child.name,
                 (select count(*)
                    from unnest(child.depends_on) named(name),
                         lateral (select steps.state
                                    from remand.steps
                                   where steps.workflow_id = child.workflow_id
                                     and steps.name = named.name
                                  offset 0) parent
                   where parent.state not in ('complete', 'resolved_manually')
                     and (parent.state <> 'cancelled' or child.after is null)) as parents
            from remand.steps child
           where child.workflow_id = any(p_ids)
             and child.state = 'pending') counted
   where step.workflow_id = counted.workflow_id
     and step.name = counted.name
     and step.open_parents <> counted.parents;

  -- Enqueue.
  select array_agg(step.workflow_id), array_agg(step.name)
    into v_workflows, v_steps
    from remand.workflows flow
    join remand.steps step on step.workflow_id = flow.id
   where flow.id = any(p_ids)
     and flow.hold is null
     and flow.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
     and step.state = 'pending'
     and step.open_parents = 0
     and step.after is distinct from 'failure';
  v_queues := array(select remand.enqueue_steps(v_workflows, v_steps, p_now));

  -- Count anew what the workflows still have to do, and what failed.
  update remand.workflows flow
     set open_steps = counted.open, error_steps = counted.failed
    from (select step.workflow_id,
                 count(*) filter (
                   where step.state not in ('complete', 'resolved_manually', 'cancelled')) as open,
                 count(*) filter (where step.state = 'error') as failed
            from remand.steps step
           where step.workflow_id = any(p_ids)
           group by step.workflow_id) counted
   where flow.id = counted.workflow_id;
  v_queues := v_queues || array(select remand.start_conditional(p_ids, p_by, p_now));
  perform remand.roll_up(p_ids, p_by, p_now);
  return query select distinct unnest(v_queues);
end $$;
