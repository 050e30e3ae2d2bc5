-- Put up to p_limit ready steps of gated dependencies aside: enqueued -> waiting_for_retry, no attempt is
-- used up.
-- due_at stays: it is the order in which they are released again. Returns how many.
create or replace function remand.hold_gated(p_limit int, p_now timestamptz default null) returns int
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_gated text[] := array(select remand.gating_breakers());
  v_workflows uuid[]; v_steps text[]; v_now timestamptz;
begin
  if v_gated = '{}' then return 0; end if;
  with due as (
    select queued.workflow_id, queued.step
      from remand.run_queue queued
     where queued.phase = 'ready'
       and queued.gate is null
       and queued.dependency = any(v_gated)
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
  if v_workflows is null then return 0; end if;
  -- After the look: none of them was enqueued later than it was held.
  v_now := coalesce(p_now, clock_timestamp());
  update remand.run_queue queued
     set phase = 'waiting', gate = 'held'
    from unnest(v_workflows, v_steps) given(workflow_id, step)
   where queued.workflow_id = given.workflow_id
     and queued.step = given.step;
  perform remand.move_steps(v_workflows, v_steps, array['enqueued'], 'hold', 'waiting_for_retry', 'breaker',
                            null, v_now);
  perform remand.roll_up(v_workflows, 'breaker', v_now);
  return cardinality(v_workflows);
end $$;
