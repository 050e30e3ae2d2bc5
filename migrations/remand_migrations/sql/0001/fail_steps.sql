-- Apply the decision "dead": enqueued_as_error_for_orchestration -> error, workflow rolled up. The caller holds the
-- rows (take_failures) and opens the dead letters in the same transaction. fail_fast: what has not started is
-- withdrawn and nothing further is enqueued until somebody decides.
create or replace function remand.fail_steps(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_explanations text[], p_by text, p_now timestamptz)
returns void
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  v_fast uuid[]; v_workflows uuid[]; v_steps text[];
begin
  perform remand.move_steps(p_workflows, p_steps, array['enqueued_as_error_for_orchestration'], 'fail_permanently',
                            'error', p_by, null, p_now);
  update remand.attempts x set decision = 'dead', decided_at = p_now, explanation = g.why
    from unnest(p_workflows, p_steps, p_attempts, p_explanations) g(w, n, a, why)
   where x.workflow_id = g.w and x.step = g.n and x.attempt = g.a;
  delete from remand.run_queue q using unnest(p_workflows, p_steps) g(w, n)
   where q.workflow_id = g.w and q.step = g.n;
  update remand.workflows f set troubled = true, error_steps = f.error_steps + x.c
    from (select g.w, count(*) c from unnest(p_workflows) g(w) group by g.w) x where f.id = x.w;
  v_fast := array(select f.id from remand.workflows f join remand.templates y on y.id = f.template_id
                   where f.id = any(p_workflows) and y.on_failure = 'fail_fast');
  if cardinality(v_fast) > 0 then
    with gone as (
      delete from remand.run_queue q where q.workflow_id = any(v_fast) and q.phase in ('ready', 'waiting')
      returning q.workflow_id w, q.step n)
    select array_agg(g.w), array_agg(g.n) into v_workflows, v_steps from gone g;
    perform remand.move_steps(v_workflows, v_steps, array['enqueued', 'waiting_for_retry'], 'withdraw', 'pending',
                              p_by, 'fail_fast', p_now);
    update remand.workflows f set hold = 'fail_fast' where f.id = any(v_fast);
  end if;
  perform remand.roll_up(p_workflows, p_by, p_now);
end $$;
