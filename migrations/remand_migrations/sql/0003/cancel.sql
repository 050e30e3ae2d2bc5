-- Cancel workflows: every step that has not ended is cancelled, late results are refused. The caller holds
-- the rows.
-- Returns the workflows that were cancelled; a final one is left alone.
create or replace function remand.cancel(p_ids uuid[], p_by text, p_reason text, p_now timestamptz)
returns setof uuid
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_live text[] := array['pending', 'initializing', 'enqueuing_steps', 'steps_in_process',
                         'evaluating_results', 'waiting_for_dependencies', 'waiting_for_retry',
                         'blocked_by_failures'];
  v_open text[] := array['pending', 'enqueued', 'in_progress', 'enqueued_for_orchestration',
                         'enqueued_as_error_for_orchestration', 'waiting_for_retry', 'error'];
  v_ids uuid[]; v_workflows uuid[]; v_steps text[];
begin
  v_ids := array(select remand.move_workflows(p_ids, v_live, 'cancel', 'cancelled', p_by, p_reason, p_now));
  perform
     from remand.run_queue queued
    where queued.workflow_id = any(v_ids)
    order by queued.workflow_id, queued.step
      for update;
  delete from remand.run_queue queued
   where queued.workflow_id = any(v_ids);
  select array_agg(step.workflow_id), array_agg(step.name)
    into v_workflows, v_steps
    from remand.steps step
   where step.workflow_id = any(v_ids)
     and step.state not in ('complete', 'cancelled', 'resolved_manually');
  perform remand.move_steps(v_workflows, v_steps, v_open, 'cancel', 'cancelled', p_by, p_reason, p_now);
  update remand.workflows workflow
     set open_steps = 0, error_steps = 0, troubled = false, hold = null,
         paused_at = null, paused_by = null, pause_reason = null, paused_with_template = false
   where workflow.id = any(v_ids);
  return query select unnest(v_ids);
end $$;
