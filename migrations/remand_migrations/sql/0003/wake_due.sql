-- Wake up to p_limit retries that are due; those whose dependency is gated are held instead, where they are.
-- Returns how many were taken, and the queues that got work.
create or replace function remand.wake_due(p_limit int, p_now timestamptz default null)
returns table (woken int, queues text[])
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_gated text[] := array(select remand.gating_breakers());
  v_held int := 0; v_workflows uuid[]; v_steps text[]; v_queues text[] := '{}';
begin
  if v_gated <> '{}' then
    with due as (
      select queued.workflow_id, queued.step
        from remand.run_queue queued
       where queued.phase = 'waiting'
         and queued.gate is null
         and queued.due_at <= v_now
         and queued.dependency = any(v_gated)
       order by queued.due_at
       limit p_limit
         for update skip locked)
    update remand.run_queue queued
       set gate = 'held'
      from due
     where queued.workflow_id = due.workflow_id
       and queued.step = due.step;
    get diagnostics v_held = row_count;
  end if;
  with due as (
    select queued.workflow_id, queued.step
      from remand.run_queue queued
     where queued.phase = 'waiting'
       and queued.gate is null
       and queued.due_at <= v_now
       and queued.dependency <> all(v_gated)
     order by queued.due_at
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
  if v_workflows is not null then
    v_queues := array(select remand.wake(v_workflows, v_steps, 'sweep.ring', v_now));
  end if;
  return query select v_held + coalesce(cardinality(v_workflows), 0), v_queues;
end $$;
