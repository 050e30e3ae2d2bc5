-- Apply the decision "dead": enqueued_as_error_for_orchestration -> error, workflow rolled up. The caller
-- holds the rows (take_failures) and opens the dead letters in the same transaction. fail_fast: what has not
-- started is withdrawn and nothing further is enqueued until somebody decides.
create or replace function remand.fail_steps(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_explanations text[], p_by text, p_now timestamptz)
returns void
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_fast uuid[]; v_workflows uuid[]; v_steps text[];
begin
  perform remand.move_steps(p_workflows, p_steps, array['enqueued_as_error_for_orchestration'],
                            'fail_permanently', 'error', p_by, null, p_now);
  update remand.attempts attempt
     set decision = 'dead', decided_at = p_now, explanation = given.explanation
    from unnest(p_workflows, p_steps, p_attempts, p_explanations)
           given(workflow_id, step, attempt, explanation)
   where attempt.workflow_id = given.workflow_id
     and attempt.step = given.step
     and attempt.attempt = given.attempt;
  delete from remand.run_queue queued
   using unnest(p_workflows, p_steps) given(workflow_id, step)
   where queued.workflow_id = given.workflow_id
     and queued.step = given.step;
  update remand.workflows workflow
     set troubled = true, error_steps = workflow.error_steps + failed.steps
    from (select given.id, count(*) as steps
            from unnest(p_workflows) given(id)
           group by given.id) failed
   where workflow.id = failed.id;
  v_fast := array(
    select workflow.id
      from remand.workflows workflow
      join remand.templates template on template.id = workflow.template_id
     where workflow.id = any(p_workflows)
       and template.on_failure = 'fail_fast');
  if cardinality(v_fast) > 0 then
    with withdrawn as (
      delete from remand.run_queue queued
       where queued.workflow_id = any(v_fast)
         and queued.phase in ('ready', 'waiting')
      returning queued.workflow_id, queued.step)
    select array_agg(withdrawn.workflow_id), array_agg(withdrawn.step)
      into v_workflows, v_steps
      from withdrawn;
    perform remand.move_steps(v_workflows, v_steps, array['enqueued', 'waiting_for_retry'], 'withdraw',
                              'pending', p_by, 'fail_fast', p_now);
    update remand.workflows workflow
       set hold = 'fail_fast'
     where workflow.id = any(v_fast);
  end if;
  perform remand.start_conditional(p_workflows, p_by, p_now);
  perform remand.roll_up(p_workflows, p_by, p_now);
end $$;
