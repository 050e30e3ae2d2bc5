-- Give claims back that were never started: in_progress -> enqueued, uncounted, as if never claimed.
-- p_steps null: all claims of the process (p_pid null: of the worker) but the ones in p_except.
-- Only the worker that holds the claims may call this. Returns the queues that have work again.
create or replace function remand.give_back(
  p_worker uuid, p_pid int, p_workflows uuid[], p_steps text[], p_except_workflows uuid[],
  p_except_steps text[], p_now timestamptz default null)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_workflows uuid[]; v_queues text[];
begin
  with held as materialized (
    select claimed.workflow_id, claimed.step
      from remand.run_queue claimed
     where claimed.worker = p_worker
       and claimed.phase = 'claimed'
       and (p_pid is null or claimed.pid = p_pid)
       and (p_steps is null
            or (claimed.workflow_id, claimed.step) in (
              select given.workflow_id, given.step
                from unnest(p_workflows, p_steps) given(workflow_id, step)))
       and (claimed.workflow_id, claimed.step) not in (
         select kept.workflow_id, kept.step
           from unnest(p_except_workflows, p_except_steps) kept(workflow_id, step))
     order by claimed.workflow_id, claimed.step
       for update),
  freed as (
    update remand.run_queue queued
       set phase = 'ready', worker = null, pid = null, lease_until = null, attempt = queued.attempt - 1
      from held
     where queued.workflow_id = held.workflow_id
       and queued.step = held.step
    returning queued.workflow_id, queued.step, queued.queue),
  reset as (
    update remand.steps step
       set state = 'enqueued', attempt = step.attempt - 1, started_at = null, worker = null
      from freed
     where step.workflow_id = freed.workflow_id
       and step.name = freed.step)
  select array_agg(distinct freed.workflow_id), array_agg(distinct freed.queue)
    into v_workflows, v_queues
    from freed;
  if v_workflows is not null then
    perform remand.withdraw_paused(v_workflows, cardinality(v_workflows), p_now);
  end if;
  return query select unnest(v_queues);
end $$;
