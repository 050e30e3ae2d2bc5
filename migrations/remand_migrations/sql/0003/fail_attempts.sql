-- Record attempts that ended badly and send each to the queue of its policy:
-- in_progress -> enqueued_as_error_for_orchestration, run_queue row -> that queue, attempts row, history.
-- An attempt counts only if the given worker still holds it. Returns those that counted.
create or replace function remand.fail_attempts(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_workers uuid[], p_outcomes text[],
    p_failures jsonb[],
  p_policies text[], p_queues text[], p_by text, p_now timestamptz default null)
returns table (workflow_id uuid, step text)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_workflows uuid[]; v_steps text[];
begin
  with given as (
    select *
      from unnest(p_workflows, p_steps, p_attempts, p_workers, p_outcomes, p_failures, p_policies, p_queues)
             given(workflow_id, step, attempt, worker, outcome, failure, policy, queue)),
  ours as materialized (
    select queued.workflow_id, queued.step, queued.attempt, queued.worker
      from remand.run_queue queued
      join given
        on queued.workflow_id = given.workflow_id
       and queued.step = given.step
       and queued.attempt = given.attempt
       and queued.worker = given.worker
     where queued.phase = 'claimed'
     order by queued.workflow_id, queued.step
       for update of queued),
  failed as (
    update remand.run_queue queued
       set phase = 'failed', queue = given.queue, due_at = v_now,
           worker = null, pid = null, lease_until = null,
           suspect = queued.suspect or given.outcome = 'lost'
      from ours
      join given
        on given.workflow_id = ours.workflow_id
       and given.step = ours.step
       and given.attempt = ours.attempt
       and given.worker = ours.worker
     where queued.workflow_id = ours.workflow_id
       and queued.step = ours.step
    returning queued.workflow_id, queued.step, given.attempt, given.worker, given.outcome, given.failure,
              given.policy),
  recorded as (
    insert into remand.attempts
        (workflow_id, step, attempt, outcome, worker, started_at, ended_at, failure, policy)
      select failed.workflow_id, failed.step, failed.attempt, failed.outcome, failed.worker,
             step.started_at, v_now, failed.failure, failed.policy
        from failed
        join remand.steps step on step.workflow_id = failed.workflow_id and step.name = failed.step),
  counted as (
    update remand.steps step
       set failures = step.failures + (failed.outcome <> 'lost')::int,
           lost_attempts = step.lost_attempts + (failed.outcome = 'lost')::int,
           failure = failed.failure,
           failing_since = coalesce(step.failing_since, v_now)
      from failed
     where step.workflow_id = failed.workflow_id
       and step.name = failed.step)
  select array_agg(failed.workflow_id), array_agg(failed.step) into v_workflows, v_steps from failed;
  perform remand.move_steps(v_workflows, v_steps, array['in_progress'], 'fail',
                            'enqueued_as_error_for_orchestration', p_by, null, v_now);
  return query
  select counted.workflow_id, counted.step
    from unnest(v_workflows, v_steps) counted(workflow_id, step);
end $$;
