-- Record attempts that ended badly and send each to the queue of its policy:
-- in_progress -> enqueued_as_error_for_orchestration, run_queue row -> that queue, attempts row, history.
-- An attempt counts only if the given worker still holds it. Returns those that counted.
create or replace function remand.fail_attempts(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_workers uuid[], p_outcomes text[], p_failures jsonb[],
  p_policies text[], p_queues text[], p_by text, p_now timestamptz default null)
returns table (workflow_id uuid, step text)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_workflows uuid[]; v_steps text[];
begin
  with given as (
    select * from unnest(p_workflows, p_steps, p_attempts, p_workers, p_outcomes, p_failures, p_policies, p_queues)
      g(w, n, a, worker, outcome, failure, policy, queue)),
  ours as materialized (
    select q.workflow_id w, q.step n, q.attempt a, q.worker from remand.run_queue q join given g
        on q.workflow_id = g.w and q.step = g.n and q.attempt = g.a and q.worker = g.worker
     where q.phase = 'claimed' order by 1, 2 for update of q),
  held as (
    update remand.run_queue q
       set phase = 'failed', queue = g.queue, due_at = t, worker = null, pid = null, lease_until = null,
           suspect = q.suspect or g.outcome = 'lost'
      from ours o join given g on g.w = o.w and g.n = o.n and g.a = o.a and g.worker = o.worker
     where q.workflow_id = o.w and q.step = o.n
    returning q.workflow_id w, q.step n, g.a, g.worker, g.outcome, g.failure, g.policy),
  kept as (
    insert into remand.attempts (workflow_id, step, attempt, outcome, worker, started_at, ended_at, failure, policy)
      select h.w, h.n, h.a, h.outcome, h.worker, s.started_at, t, h.failure, h.policy
        from held h join remand.steps s on s.workflow_id = h.w and s.name = h.n),
  counted as (
    update remand.steps s
       set failures = s.failures + (h.outcome <> 'lost')::int,
           lost_attempts = s.lost_attempts + (h.outcome = 'lost')::int, failure = h.failure,
           failing_since = coalesce(s.failing_since, t)
      from held h where s.workflow_id = h.w and s.name = h.n)
  select array_agg(h.w), array_agg(h.n) into v_workflows, v_steps from held h;
  perform remand.move_steps(v_workflows, v_steps, array['in_progress'], 'fail',
                            'enqueued_as_error_for_orchestration', p_by, null, t);
  return query select k.w, k.n from unnest(v_workflows, v_steps) k(w, n);
end $$;
