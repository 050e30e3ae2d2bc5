-- Apply the decision "retry": enqueued_as_error_for_orchestration -> waiting_for_retry until due; what is due now
-- goes on to enqueued at once. What failed after its workflow was put on hold is withdrawn: nothing is enqueued then.
-- The caller holds the rows (take_failures). Returns the queues that got work.
create or replace function remand.schedule_retries(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_due_at timestamptz[], p_explanations text[], p_by text,
  p_now timestamptz)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_workflows uuid[]; v_steps text[];
begin
  perform remand.move_steps(p_workflows, p_steps, array['enqueued_as_error_for_orchestration'], 'schedule_retry',
                            'waiting_for_retry', p_by, null, p_now);
  with given as (
    select * from unnest(p_workflows, p_steps, p_attempts, p_due_at, p_explanations) g(w, n, a, due_at, why)),
  parked as (
    update remand.run_queue q set phase = 'waiting', gate = null, queue = s.queue, due_at = g.due_at
      from given g join remand.steps s on s.workflow_id = g.w and s.name = g.n
     where q.workflow_id = g.w and q.step = g.n)
  update remand.attempts x set decision = 'retry', decided_at = p_now, due_at = g.due_at, explanation = g.why
    from given g where x.workflow_id = g.w and x.step = g.n and x.attempt = g.a;
  update remand.workflows f set troubled = true where f.id = any(p_workflows);
  with gone as (
    delete from remand.run_queue q
     using unnest(p_workflows, p_steps) g(w, n), remand.workflows f, remand.steps s
     where q.workflow_id = g.w
       and q.step = g.n
       and f.id = g.w
       and s.workflow_id = g.w
       and s.name = g.n
       -- What follows a failure is not held by it.
       and f.hold is not null
       and (f.hold <> 'fail_fast' or s.after is null)
    returning q.workflow_id w, q.step n)
  select array_agg(g.w), array_agg(g.n) into v_workflows, v_steps from gone g;
  if v_workflows is not null then
    perform remand.move_steps(v_workflows, v_steps, array['waiting_for_retry'], 'withdraw', 'pending', p_by,
                              'on hold', p_now);
  end if;
  perform remand.roll_up(p_workflows, p_by, p_now);
  return query select remand.wake(
    array(select g.w from unnest(p_workflows, p_due_at) g(w, d) where g.d <= p_now),
    array(select g.n from unnest(p_steps, p_due_at) g(n, d) where g.d <= p_now), p_by, p_now);
end $$;
