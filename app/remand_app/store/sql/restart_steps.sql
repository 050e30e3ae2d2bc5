-- Send steps back to pending as if they had never run: results, failures and checkpoints are forgotten,
-- attempts and their numbers are kept. The caller holds the workflow's row and has seen that none of them is
-- running.
-- What the steps' rows tell by their instants is written to history and attempts first.
create or replace function remand.restart_steps(
  p_workflow uuid, p_steps text[], p_by text, p_reason text, p_now timestamptz)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  -- From this seq on, remand.moves tells what the steps' rows keep as their instants.
  v_told_by_rows constant bigint := 9223372036854775804;
  v_idle text[] := array['complete', 'resolved_manually', 'error', 'waiting_for_retry', 'enqueued',
                         'cancelled'];
  v_moved text[];
begin
  delete from remand.run_queue queued
   where queued.workflow_id = p_workflow
     and queued.step = any(p_steps);
  insert into remand.attempts (workflow_id, step, attempt, outcome, worker, started_at, ended_at)
    select attempt.workflow_id, attempt.step, attempt.attempt, attempt.outcome, attempt.worker,
           attempt.started_at, attempt.ended_at
      from remand.all_attempts attempt
     where attempt.workflow_id = p_workflow
       and attempt.step = any(p_steps)
       and attempt.outcome = 'complete'
       and not exists (select
                         from remand.attempts recorded
                        where recorded.workflow_id = p_workflow
                          and recorded.step = attempt.step
                          and recorded.attempt = attempt.attempt);
  insert into remand.history (workflow_id, kind, step, from_state, event, to_state, at, by, reason)
    select move.workflow_id, move.kind, move.step, move.from_state, move.event, move.to_state, move.at,
           move.by, move.reason
      from remand.moves move
      join remand.steps step on step.workflow_id = move.workflow_id and step.name = move.step
     where move.workflow_id = p_workflow
       and move.step = any(p_steps)
       and step.state = 'complete'
       and move.seq >= v_told_by_rows
     order by move.at, move.seq;
  update remand.steps step
     set enqueued_at = null, started_at = null
   where step.workflow_id = p_workflow
     and step.name = any(p_steps)
     and step.state = 'complete';
  v_moved := array(
    select moved.step
      from remand.move_steps(array_fill(p_workflow, array[cardinality(p_steps)]), p_steps, v_idle, 'restart',
                             'pending', p_by, p_reason, p_now) moved);
  update remand.steps step
     set failures = 0, lost_attempts = 0, failing_since = null, failure = null, checkpoint = null,
         result = null, worker = null
   where step.workflow_id = p_workflow
     and step.name = any(v_moved);
  return query select unnest(v_moved);
end $$;
