-- Send steps back to pending as if they had never run: results, failures and checkpoints are forgotten, attempts and
-- their numbers are kept. The caller holds the workflow's row and has seen that none of them is running.
-- What the steps' rows tell by their instants is written to history and attempts first.
create or replace function remand.restart_steps(
  p_workflow uuid, p_steps text[], p_by text, p_reason text, p_now timestamptz)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_moved text[];
begin
  delete from remand.run_queue q where q.workflow_id = p_workflow and q.step = any(p_steps);
  insert into remand.attempts (workflow_id, step, attempt, outcome, worker, started_at, ended_at)
    select a.workflow_id, a.step, a.attempt, a.outcome, a.worker, a.started_at, a.ended_at
      from remand.all_attempts a
     where a.workflow_id = p_workflow and a.step = any(p_steps) and a.outcome = 'complete'
       and not exists (select from remand.attempts x
                        where x.workflow_id = p_workflow and x.step = a.step and x.attempt = a.attempt);
  insert into remand.history (workflow_id, kind, step, from_state, event, to_state, at, by, reason)
    select m.workflow_id, m.kind, m.step, m.from_state, m.event, m.to_state, m.at, m.by, m.reason
      from remand.moves m join remand.steps s on s.workflow_id = m.workflow_id and s.name = m.step
     where m.workflow_id = p_workflow and m.step = any(p_steps) and s.state = 'complete'
       and m.seq >= 9223372036854775804 order by m.at, m.seq;
  update remand.steps s set enqueued_at = null, started_at = null
   where s.workflow_id = p_workflow and s.name = any(p_steps) and s.state = 'complete';
  v_moved := array(select m.step from remand.move_steps(
    array_fill(p_workflow, array[cardinality(p_steps)]), p_steps,
    array['complete', 'resolved_manually', 'error', 'waiting_for_retry', 'enqueued', 'cancelled'], 'restart', 'pending',
    p_by, p_reason, p_now) m);
  update remand.steps s
     set failures = 0, lost_attempts = 0, failing_since = null, failure = null, checkpoint = null, result = null,
         worker = null
   where s.workflow_id = p_workflow and s.name = any(v_moved);
  return query select unnest(v_moved);
end $$;
