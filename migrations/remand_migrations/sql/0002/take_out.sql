-- Take steps out of work: -> error, whatever they wait for; attempts under way are interrupted, their late results
-- refused; the workflows rolled up. The caller holds the workflows' rows, then those of the run queue, and opens the
-- dead letters in the same transaction. A result that is parked counts, but nothing follows it until somebody decides.
create or replace function remand.take_out(
  p_workflows uuid[], p_steps text[], p_failure jsonb, p_explanation text, p_by text, p_now timestamptz)
returns void
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
begin
  delete from remand.run_queue q using unnest(p_workflows, p_steps) g(w, n)
   where q.workflow_id = g.w and q.step = g.n;
  update remand.attempts x set decision = 'dead', decided_at = p_now, explanation = p_explanation
    from unnest(p_workflows, p_steps) g(w, n)
    join remand.steps s on s.workflow_id = g.w and s.name = g.n and s.state = 'enqueued_as_error_for_orchestration'
   where x.workflow_id = s.workflow_id and x.step = s.name and x.attempt = s.attempt and x.decision is null;
  perform remand.move_steps(p_workflows, p_steps, array['pending', 'enqueued', 'in_progress',
    'enqueued_as_error_for_orchestration', 'waiting_for_retry'], 'take_out', 'error', p_by, p_explanation, p_now);
  update remand.steps s set failure = p_failure
    from unnest(p_workflows, p_steps) g(w, n) where s.workflow_id = g.w and s.name = g.n;
  update remand.workflows f
     set troubled = true, error_steps = f.error_steps + x.c,
         hold = case when exists (select from remand.run_queue q where q.workflow_id = f.id and q.phase = 'settling')
                     then coalesce(f.hold, 'taken_out') else f.hold end
    from (select g.w, count(*) c from unnest(p_workflows) g(w) group by g.w) x where f.id = x.w;
  perform remand.start_conditional(p_workflows, p_by, p_now);
  perform remand.roll_up(p_workflows, p_by, p_now);
end $$;
