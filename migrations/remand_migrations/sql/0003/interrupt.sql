-- End attempts that a shutdown cut short: in_progress -> enqueued at once, counted neither as failed nor as
-- lost.
-- Only the worker that holds the claims may call this. Returns the queues that have work again.
create or replace function remand.interrupt(
  p_worker uuid, p_workflows uuid[], p_steps text[], p_attempts int[], p_now timestamptz default null)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_workflows uuid[]; v_steps text[]; v_queues text[];
begin
  with ours as materialized (
    select queued.workflow_id, queued.step
      from remand.run_queue queued
      join unnest(p_workflows, p_steps, p_attempts) given(workflow_id, step, attempt)
        on queued.workflow_id = given.workflow_id
       and queued.step = given.step
       and queued.attempt = given.attempt
     where queued.worker = p_worker
       and queued.phase = 'claimed'
     order by queued.workflow_id, queued.step
       for update of queued),
  freed as (
    update remand.run_queue queued
       set phase = 'ready', worker = null, pid = null, lease_until = null, due_at = v_now
      from ours
     where queued.workflow_id = ours.workflow_id
       and queued.step = ours.step
    returning queued.workflow_id, queued.step, queued.attempt, queued.queue),
  recorded as (
    insert into remand.attempts (workflow_id, step, attempt, outcome, worker, started_at, ended_at)
      select freed.workflow_id, freed.step, freed.attempt, 'interrupted', p_worker, step.started_at, v_now
        from freed
        join remand.steps step on step.workflow_id = freed.workflow_id and step.name = freed.step)
  select array_agg(freed.workflow_id), array_agg(freed.step), array_agg(distinct freed.queue)
    into v_workflows, v_steps, v_queues
    from freed;
  perform remand.move_steps(v_workflows, v_steps, array['in_progress'], 'interrupt', 'enqueued', 'shutdown',
                            null, v_now);
  if v_workflows is not null then
    perform remand.withdraw_paused(v_workflows, cardinality(v_workflows), v_now);
  end if;
  return query select unnest(v_queues);
end $$;
