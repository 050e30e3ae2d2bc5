-- Decide on the steps that follow a failure of their parents, or any end ("after"): enqueue those whose time has come,
-- cancel those whose time cannot come, and what follows these. The caller holds the workflows' rows.
-- A parent has ended when it is final, or when it cannot run before somebody decides: it waits for what failed, or its
-- workflow failed fast. Cancelled steps may leave nothing open: such workflows are rolled up.
-- Returns the queues that got work. Where nothing waits so, it costs one look at a partial index.
create or replace function remand.start_conditional(p_ids uuid[], p_by text, p_now timestamptz)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_ids uuid[]; v_workflows uuid[]; v_steps text[]; v_starts boolean[]; v_queues text[] := '{}';
begin
  v_ids := array(
    select flow.id
      from remand.workflows flow
     where flow.id = any(p_ids)
       and flow.conditional
       and flow.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
       and (flow.hold is null or flow.hold = 'fail_fast')
       and exists (select
                     from remand.steps step
                    where step.workflow_id = flow.id
                      and step.after is not null
                      and step.state = 'pending'
                      and (step.open_parents = 0 or flow.error_steps > 0)));
  while cardinality(v_ids) > 0 loop
    with recursive step as materialized (
      select s.workflow_id, s.name, s.state, s.after, s.depends_on, s.children,
             s.state = 'error' or (s.state = 'pending' and s.after is null and flow.hold is not null) as failed
        from remand.workflows flow
        join remand.steps s on s.workflow_id = flow.id
       where flow.id = any(v_ids)),
    failed as (
      select step.workflow_id, step.name, step.children
        from step
       where step.failed
      union
      select child.workflow_id, child.name, child.children
        from failed, unnest(failed.children) named(name), step child
       where child.workflow_id = failed.workflow_id
         and child.name = named.name
         and child.state = 'pending'
         and child.after is null),
    parent as (
      select step.workflow_id, step.name, failed.name is not null as failed, step.state = 'cancelled' as skipped,
             failed.name is not null or step.state in ('complete', 'resolved_manually', 'cancelled') as ended
        from step
        left join failed on failed.workflow_id = step.workflow_id and failed.name = step.name),
    judged as (
      select step.workflow_id, step.name, step.after,
             bool_and(parent.ended) as all_ended, bool_or(parent.failed) as one_failed,
             bool_or(parent.skipped) as one_skipped
        from step, unnest(step.depends_on) named(name), parent
       where step.state = 'pending'
         and parent.workflow_id = step.workflow_id
         and parent.name = named.name
       group by step.workflow_id, step.name, step.after)
    select array_agg(judged.workflow_id), array_agg(judged.name), array_agg(judged.after is not null and
             (judged.after = 'always' or judged.one_failed))
      into v_workflows, v_steps, v_starts
      from judged
     where case when judged.after is null then judged.one_skipped else judged.all_ended end;
    exit when v_workflows is null;
    v_queues := v_queues || array(select remand.enqueue_steps(
      array(select g.id from unnest(v_workflows, v_starts) g(id, starts) where g.starts),
      array(select g.name from unnest(v_steps, v_starts) g(name, starts) where g.starts), p_now));
    v_ids := array(select distinct g.id from unnest(v_workflows, v_starts) g(id, starts) where not g.starts);
    exit when v_ids = '{}';
    perform remand.move_steps(
      array(select g.id from unnest(v_workflows, v_starts) g(id, starts) where not g.starts),
      array(select g.name from unnest(v_steps, v_starts) g(name, starts) where not g.starts),
      array['pending'], 'cancel', 'cancelled', p_by, 'skipped: what it follows did not come', p_now);
    update remand.workflows flow
       set open_steps = flow.open_steps - skipped.count
      from (select g.id, count(*)::int as count
              from unnest(v_workflows, v_starts) g(id, starts)
             where not g.starts
             group by g.id) skipped
     where flow.id = skipped.id;
    -- For what follows any end, or a failure, a parent that was skipped has ended.
    update remand.steps child
       set open_parents = child.open_parents - skipped.count
      from (select g.id, behind.name, count(*)::int as count
              from unnest(v_workflows, v_steps, v_starts) g(id, name, starts)
              join remand.steps step on step.workflow_id = g.id and step.name = g.name,
                   unnest(step.children) behind(name)
             where not g.starts
             group by g.id, behind.name) skipped
     where child.workflow_id = skipped.id
       and child.name = skipped.name
       and child.after is not null
       and child.state = 'pending';
    perform remand.roll_up(v_ids, p_by, p_now);
  end loop;
  return query select distinct unnest(v_queues);
end $$;
