-- Claim the first step that a queue has due, reading nothing that users gave: for when a claim breaks, whatever of one
-- step it breaks on. p_postpone: touch nothing but its place in the queue, which it gets again in a minute.
create or replace function remand.claim_head(
  p_queue text, p_worker uuid, p_pid int, p_timeout float, p_slack float, p_postpone boolean,
  p_now timestamptz default null)
returns table (workflow_id uuid, step text, attempt int)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_gated text[]; v_paused boolean; v_lane record; v_workflow uuid; v_step text; v_attempt int; v_seconds float;
begin
  select gate.gated, gate.paused into v_gated, v_paused from remand.gates(p_queue) gate;
  if v_paused then return; end if;
  for v_lane in select * from remand.lanes(p_queue, 0, t) loop
    select taken.workflows[1], taken.steps[1] into v_workflow, v_step
      from remand.take_lane(p_queue, v_lane.namespace, v_lane.priority, false, 1, v_gated, '{}', '{}', t) taken;
    exit when v_workflow is not null;
  end loop;
  if v_workflow is null then return; end if;
  if p_postpone then
    update remand.run_queue queued
       set due_at = t + interval '1 minute'
     where queued.workflow_id = v_workflow and queued.step = v_step;
    return query select v_workflow, v_step, 0;
    return;
  end if;
  update remand.steps step
     set state = 'in_progress', attempt = step.attempt + 1, started_at = t, worker = p_worker
   where step.workflow_id = v_workflow and step.name = v_step and step.state = 'enqueued'
  returning step.attempt, coalesce(step.timeout_seconds, p_timeout) into v_attempt, v_seconds;
  if v_attempt is null then return; end if;
  update remand.run_queue queued
     set phase = 'claimed', worker = p_worker, pid = p_pid, attempt = v_attempt,
         lease_until = t + make_interval(secs => v_seconds + p_slack)
   where queued.workflow_id = v_workflow and queued.step = v_step;
  return query select v_workflow, v_step, v_attempt;
end $$;
