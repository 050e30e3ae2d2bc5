-- As claim, with one more column; that one stays for the code that calls it.
create or replace function remand.claim_v9(
  p_queue text, p_k int, p_worker uuid, p_pid int, p_timeout float, p_slack float, p_now timestamptz default null,
  p_turn int default 0)
returns table (workflow_id uuid, step text, attempt int, handler text, timeout_seconds float, commit_each boolean,
               input jsonb, parents jsonb, checkpoint jsonb, lease_until timestamptz, template_id int,
               waited_seconds float, cost int)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  return query
  select claimed.workflow_id, claimed.step, claimed.attempt, claimed.handler, claimed.timeout_seconds,
         claimed.commit_each, claimed.input, claimed.parents, claimed.checkpoint, claimed.lease_until,
         claimed.template_id, claimed.waited_seconds, step.cost
    from remand.claim(p_queue, p_k, p_worker, p_pid, p_timeout, p_slack, p_now, p_turn) claimed
    join remand.steps step on step.workflow_id = claimed.workflow_id and step.name = claimed.step;
end $$;
