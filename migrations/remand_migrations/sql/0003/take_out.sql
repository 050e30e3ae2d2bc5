-- Take steps out of work: -> error, whatever they wait for; attempts under way are interrupted, their late
-- results refused; the workflows rolled up. The caller holds the workflows' rows, then those of the run
-- queue, and opens the dead letters in the same transaction. A result that is parked counts, but nothing
-- follows it until somebody decides.
create or replace function remand.take_out(
  p_workflows uuid[], p_steps text[], p_failure jsonb, p_explanation text, p_by text, p_now timestamptz)
returns void
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_open text[] := array['pending', 'enqueued', 'in_progress', 'enqueued_as_error_for_orchestration',
                         'waiting_for_retry'];
begin
  delete from remand.run_queue queued
   using unnest(p_workflows, p_steps) given(workflow_id, step)
   where queued.workflow_id = given.workflow_id
     and queued.step = given.step;
  update remand.attempts attempt
     set decision = 'dead', decided_at = p_now, explanation = p_explanation
    from unnest(p_workflows, p_steps) given(workflow_id, name)
    join remand.steps step
      on step.workflow_id = given.workflow_id
     and step.name = given.name
     and step.state = 'enqueued_as_error_for_orchestration'
   where attempt.workflow_id = step.workflow_id
     and attempt.step = step.name
     and attempt.attempt = step.attempt
     and attempt.decision is null;
  perform remand.move_steps(p_workflows, p_steps, v_open, 'take_out', 'error', p_by, p_explanation, p_now);
  update remand.steps step
     set failure = p_failure
    from unnest(p_workflows, p_steps) given(workflow_id, name)
   where step.workflow_id = given.workflow_id
     and step.name = given.name;
  update remand.workflows workflow
     set troubled = true,
         error_steps = workflow.error_steps + taken.steps,
         hold = case when exists (select
                                    from remand.run_queue queued
                                   where queued.workflow_id = workflow.id
                                     and queued.phase = 'settling')
                     then coalesce(workflow.hold, 'taken_out')
                     else workflow.hold
                end
    from (select given.id, count(*) as steps
            from unnest(p_workflows) given(id)
           group by given.id) taken
   where workflow.id = taken.id;
  perform remand.start_conditional(p_workflows, p_by, p_now);
  perform remand.roll_up(p_workflows, p_by, p_now);
end $$;
