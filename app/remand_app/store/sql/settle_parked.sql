-- Apply parked results whose workflow row is free now; returns how many results, the queues that got work,
-- and the dependencies whose breaker had let some of the results through, each once for every such result.
create or replace function remand.settle_parked(
  p_limit int, p_timeout float, p_slack float, p_now timestamptz default null)
returns table (settled int, queues text[], passed text[])
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_worker record;
  v_outcome record;
begin
  settled := 0;
  queues := '{}';
  passed := '{}';
  for v_worker in
    select parked.worker,
           array_agg(parked.workflow_id) as workflows,
           array_agg(parked.step) as steps,
           array_agg(parked.attempt) as attempts,
           array_agg(step.result) as results
      from (select queued.worker, queued.workflow_id, queued.step, queued.attempt
              from remand.run_queue queued
              join remand.workflows flow on flow.id = queued.workflow_id
             where queued.phase = 'settling'
             limit p_limit
               for update of flow skip locked) parked
      join remand.steps step on step.workflow_id = parked.workflow_id and step.name = parked.step
     group by parked.worker
  loop
    select * into v_outcome
      from remand.settle_v2(
        v_worker.workflows, v_worker.steps, v_worker.attempts, v_worker.results, v_worker.worker,
        p_pid => 0, p_queue => '', p_k => 0, p_timeout => p_timeout, p_slack => p_slack,
        p_inline_bytes => 0, p_phase => 'settling', p_now => p_now);
    settled := settled + v_outcome.settled;
    queues := array(select unnest(queues) union select unnest(v_outcome.rung));
    passed := passed || v_outcome.passed;
  end loop;
  return next;
end $$;
