-- Release up to p_limit steps that the breaker of a dependency holds, the most urgent and oldest first:
-- waiting_for_retry -> enqueued. p_queues: they are probes, from these queues only; of the first p_looked
-- those that have failed least, so that a long outage does not use up the most urgent steps. What a redrive
-- has sent as a canary is looked at, too, wherever it stands, and goes first among equals: it was sent to be
-- tried.
-- The caller holds the breaker's row. Returns how many, and the queues that got work.
create or replace function remand.release_held(
  p_dependency text, p_limit int, p_by text, p_now timestamptz, p_queues text[] default null,
  p_looked int default 1000)
returns table (released int, queues text[])
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_workflows uuid[]; v_steps text[]; v_queues text[];
begin
  if p_queues is null then
    with due as (
      select held.workflow_id, held.step
        from remand.run_queue held
       where held.dependency = p_dependency
         and held.gate = 'held'
       order by held.priority desc, held.due_at
       limit p_limit
         for update skip locked),
    workflow as (
      select workflow.id
        from remand.workflows workflow
       where workflow.id in (select due.workflow_id from due)
       order by workflow.id
         for update skip locked)
    select array_agg(due.workflow_id), array_agg(due.step)
      into v_workflows, v_steps
      from due
      join workflow on workflow.id = due.workflow_id;
  else
    with urgent as materialized (
      select held.workflow_id, held.step, held.priority, held.due_at, false as canary
        from remand.run_queue held
       where held.dependency = p_dependency
         and held.gate = 'held'
         and held.queue = any(p_queues)
       order by held.priority desc, held.due_at
       limit p_looked),
    canary as materialized (
      select held.workflow_id, held.step, held.priority, held.due_at, true as canary
        from remand.redrives redrive
        join remand.redrive_items item on item.redrive_id = redrive.id and item.state = 'sent'
        join remand.run_queue held on held.workflow_id = item.workflow_id and held.step = any(item.steps)
       where redrive.state = 'canary'
         and held.dependency = p_dependency
         and held.gate = 'held'
         and held.queue = any(p_queues)
       limit p_looked),
    candidate as (
      select distinct on (looked.workflow_id, looked.step) looked.*
        from (table canary union all table urgent) looked
       order by looked.workflow_id, looked.step, looked.canary desc),
    least_failed as materialized (
      select candidate.workflow_id, candidate.step
        from candidate
        join remand.steps step on step.workflow_id = candidate.workflow_id and step.name = candidate.step
       order by step.failures + step.lost_attempts, candidate.canary desc, candidate.priority desc,
             candidate.due_at
       limit p_limit),
    due as (
      select held.workflow_id, held.step
        from least_failed
        join remand.run_queue held
          on held.workflow_id = least_failed.workflow_id
         and held.step = least_failed.step
       where held.gate = 'held'
         for update of held skip locked),
    workflow as (
      select workflow.id
        from remand.workflows workflow
       where workflow.id in (select due.workflow_id from due)
       order by workflow.id
         for update skip locked)
    select array_agg(due.workflow_id), array_agg(due.step)
      into v_workflows, v_steps
      from due
      join workflow on workflow.id = due.workflow_id;
  end if;
  with passed as (
    update remand.run_queue queued
       set phase = 'ready', gate = 'passed'
      from unnest(v_workflows, v_steps) given(workflow_id, step)
     where queued.workflow_id = given.workflow_id
       and queued.step = given.step
    returning queued.queue)
  select array_agg(distinct passed.queue) into v_queues from passed;
  perform remand.move_steps(v_workflows, v_steps, array['waiting_for_retry'], 'release', 'enqueued', p_by,
                            null, p_now);
  perform remand.roll_up(v_workflows, p_by, p_now);
  return query select coalesce(cardinality(v_workflows), 0), coalesce(v_queues, '{}');
end $$;
