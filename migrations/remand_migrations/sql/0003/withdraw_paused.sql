-- Withdraw what came back to the queue of a workflow that is paused or on hold (fail_fast): a claim that was
-- given back, an attempt that a shutdown cut short. Workflows that somebody else holds are left for the next
-- look.
-- What follows a failure ("after") runs where a workflow failed fast.
-- p_ids null: all that are paused, or on hold and yet in motion. Returns how many steps.
create or replace function remand.withdraw_paused(p_ids uuid[], p_limit int, p_now timestamptz default null)
returns int
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[] := p_ids;
  v_workflows uuid[]; v_steps text[]; v_reason text; v_reasons text[];
begin
  if p_ids is null then
    v_ids := array(
      select workflow.id
        from remand.workflows workflow
       where workflow.paused_at is not null
      union
      select workflow.id
        from remand.workflows workflow
       where workflow.hold is not null
         and workflow.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies'));
  end if;
  select array_agg(held.id)
    into v_ids
    from (select workflow.id
            from remand.workflows workflow
           where workflow.id = any(v_ids)
             and (workflow.paused_at is not null or workflow.hold is not null)
             and not remand.is_final(workflow.state)
             and exists (select
                           from remand.run_queue queued
                          where queued.workflow_id = workflow.id
                            and queued.phase in ('ready', 'waiting'))
           limit p_limit
             for update skip locked) held;
  if v_ids is null then return 0; end if;
  with withdrawn as (
    delete from remand.run_queue queued
     using remand.steps step, remand.workflows workflow
     where queued.workflow_id = any(v_ids)
       and queued.phase in ('ready', 'waiting')
       and step.workflow_id = queued.workflow_id
       and step.name = queued.step
       and workflow.id = queued.workflow_id
       and not remand.may_run(workflow.hold, workflow.paused_at, step.after)
    returning queued.workflow_id, queued.step)
  select array_agg(withdrawn.workflow_id), array_agg(withdrawn.step),
         array_agg(case when workflow.paused_at is not null then 'paused' else 'on hold' end)
    into v_workflows, v_steps, v_reasons
    from withdrawn
    join remand.workflows workflow on workflow.id = withdrawn.workflow_id;
  if v_workflows is null then return 0; end if;
  foreach v_reason in array array['paused', 'on hold'] loop
    perform remand.move_steps(
      array(select withdrawn.workflow_id
              from unnest(v_workflows, v_reasons) withdrawn(workflow_id, reason)
             where withdrawn.reason = v_reason),
      array(select withdrawn.step
              from unnest(v_steps, v_reasons) withdrawn(step, reason)
             where withdrawn.reason = v_reason),
      array['enqueued', 'waiting_for_retry'], 'withdraw', 'pending', 'sweep.ring', v_reason, v_now);
  end loop;
  perform remand.roll_up(v_ids, 'sweep.ring', v_now);
  return cardinality(v_workflows);
end $$;
