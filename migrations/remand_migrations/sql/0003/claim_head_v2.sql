-- Claim the first step that a queue has due, reading nothing that users gave: for when a claim breaks,
-- whatever of one step it breaks on.
-- p_postpone_seconds, unless null: touch nothing but its place in the queue, which it gets again so much
-- later; attempt is 0 then.
create or replace function remand.claim_head_v2(
  p_queue text, p_worker uuid, p_pid int, p_timeout float, p_slack float, p_postpone_seconds float,
  p_now timestamptz default null)
returns table (workflow_id uuid, step text, attempt int)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_now timestamptz := coalesce(p_now, clock_timestamp());
  v_gated text[]; v_paused boolean; v_lane record;
  v_workflow uuid; v_step text; v_attempt int; v_seconds float;
begin
  select gates.gated, gates.paused into v_gated, v_paused from remand.queue_gates(p_queue) gates;
  if v_paused then return; end if;

  for v_lane in
    select *
      from remand.claim_order(p_queue, 0, 0, v_now)
  loop
    select taken.workflows[1], taken.steps[1] into v_workflow, v_step
      from remand.claim_lane(
        p_queue, v_lane.namespace, v_lane.priority, false, 1, v_gated, '{}', '{}', v_now) taken;
    exit when v_workflow is not null;
  end loop;
  if v_workflow is null then return; end if;

  if p_postpone_seconds is not null then
    update remand.run_queue queued
       set due_at = v_now + make_interval(secs => p_postpone_seconds)
     where queued.workflow_id = v_workflow
       and queued.step = v_step;
    return query select v_workflow, v_step, 0;
    return;
  end if;

  update remand.steps step
     set state = 'in_progress', attempt = step.attempt + 1, started_at = v_now, worker = p_worker
   where step.workflow_id = v_workflow
     and step.name = v_step
     and step.state = 'enqueued'
  returning step.attempt, coalesce(step.timeout_seconds, p_timeout) into v_attempt, v_seconds;
  if v_attempt is null then return; end if;
  update remand.run_queue queued
     set phase = 'claimed', worker = p_worker, pid = p_pid, attempt = v_attempt,
         lease_until = v_now + make_interval(secs => v_seconds + p_slack)
   where queued.workflow_id = v_workflow
     and queued.step = v_step;
  return query select v_workflow, v_step, v_attempt;
end $$;
