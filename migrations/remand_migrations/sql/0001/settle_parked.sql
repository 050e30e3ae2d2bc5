-- Apply parked results whose workflow row is free now; returns how many results, the queues that got work, and the
-- dependencies whose breaker had let some of the results through, each once for every such result.
create or replace function remand.settle_parked(
  p_limit int, p_timeout float, p_slack float, p_now timestamptz default null)
returns table (settled int, queues text[], passed text[])
language plpgsql set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  v record; v_settled int := 0; v_queues text[] := '{}'; v_passed text[] := '{}'; v_row record;
begin
  for v in
    select q.worker, array_agg(q.workflow_id) w, array_agg(q.step) n, array_agg(q.attempt) a, array_agg(s.result) r
      from (select x.worker, x.workflow_id, x.step, x.attempt
              from remand.run_queue x join remand.workflows f on f.id = x.workflow_id
             where x.phase = 'settling' limit p_limit for update of f skip locked) q
      join remand.steps s on s.workflow_id = q.workflow_id and s.name = q.step
     group by q.worker
  loop
    for v_row in
      select x.kind, x.step, x.attempt from remand.settle(v.w, v.n, v.a, v.r, v.worker, 0, '', 0, p_timeout, p_slack,
                                               'settling', p_now) x
    loop
      if v_row.kind = 'settled' then v_settled := v_settled + 1; end if;
      if v_row.kind = 'ring' and v_row.step <> all(v_queues) then v_queues := v_queues || v_row.step; end if;
      if v_row.kind = 'passed' then v_passed := v_passed || array_fill(v_row.step, array[v_row.attempt]); end if;
    end loop;
  end loop;
  return query select v_settled, v_queues, v_passed;
end $$;
