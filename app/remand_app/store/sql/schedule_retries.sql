-- Apply the decision "retry": enqueued_as_error_for_orchestration -> waiting_for_retry until due; what is due
-- now goes on to enqueued at once. What failed after its workflow was put on hold is withdrawn: nothing is
-- enqueued then.
-- The caller holds the rows (take_failures). Returns the queues that got work.
create or replace function remand.schedule_retries(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_due_at timestamptz[], p_explanations text[],
  p_by text, p_now timestamptz)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_workflows uuid[]; v_steps text[];
  v_due_workflows uuid[] := array(
    select given.workflow_id
      from unnest(p_workflows, p_due_at) given(workflow_id, due_at)
     where given.due_at <= p_now);
  v_due_steps text[] := array(
    select given.step
      from unnest(p_steps, p_due_at) given(step, due_at)
     where given.due_at <= p_now);
begin
  perform remand.move_steps(p_workflows, p_steps, array['enqueued_as_error_for_orchestration'],
                            'schedule_retry', 'waiting_for_retry', p_by, null, p_now);
  with given as (
    select *
      from unnest(p_workflows, p_steps, p_attempts, p_due_at, p_explanations)
             given(workflow_id, step, attempt, due_at, explanation)),
  put_back as (
    update remand.run_queue queued
       set phase = 'waiting', gate = null, queue = step.queue, due_at = given.due_at
      from given
      join remand.steps step on step.workflow_id = given.workflow_id and step.name = given.step
     where queued.workflow_id = given.workflow_id
       and queued.step = given.step)
  update remand.attempts attempt
     set decision = 'retry', decided_at = p_now, due_at = given.due_at, explanation = given.explanation
    from given
   where attempt.workflow_id = given.workflow_id
     and attempt.step = given.step
     and attempt.attempt = given.attempt;
  update remand.workflows workflow
     set troubled = true
   where workflow.id = any(p_workflows);
  with withdrawn as (
    delete from remand.run_queue queued
     using unnest(p_workflows, p_steps) given(workflow_id, step), remand.workflows workflow, remand.steps step
     where queued.workflow_id = given.workflow_id
       and queued.step = given.step
       and workflow.id = given.workflow_id
       and step.workflow_id = given.workflow_id
       and step.name = given.step
       and not remand.may_run(workflow.hold, workflow.paused_at, step.after)
    returning queued.workflow_id, queued.step)
  select array_agg(withdrawn.workflow_id), array_agg(withdrawn.step)
    into v_workflows, v_steps
    from withdrawn;
  if v_workflows is not null then
    perform remand.move_steps(v_workflows, v_steps, array['waiting_for_retry'], 'withdraw', 'pending', p_by,
                              'on hold', p_now);
  end if;
  perform remand.roll_up(p_workflows, p_by, p_now);
  return query select remand.wake(v_due_workflows, v_due_steps, p_by, p_now);
end $$;
