-- Record the results of a batch. A result counts only if this worker still holds that very attempt.
-- lock -> park what cannot be locked -> complete the steps -> count their workflows down -> release their
-- children (`release_children`) -> start what waits for more than parents -> roll up.
-- One row: `settled`, how many results counted; `parked`, the workflow of each result that waits until
-- whoever holds its workflow is done; `rung`, the queues that got work; `passed`, the dependency of each
-- result that a breaker had let through; `claims`, the steps that are this process's now, if any.
-- p_phase: 'claimed', or 'settling' to apply what was parked. p_inline_bytes: see `parents_of`.
create or replace function remand.settle_v2(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_results jsonb[], p_worker uuid, p_pid int,
  p_queue text, p_k int, p_timeout float, p_slack float, p_inline_bytes int, p_phase text,
  p_now timestamptz default null)
returns table (settled int, parked uuid[], rung text[], passed text[], claims remand.claimed_step[])
language plpgsql set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
declare
  v_now timestamptz; v_gated text[]; v_paused boolean;
  v_locked uuid[]; v_troubled uuid[]; v_conditional uuid[];
  v_workflows uuid[]; v_children text[]; v_parents int[]; v_namespaces text[]; v_holds text[];
begin
  parked := '{}'; rung := '{}';
  -- Lock.
  select array_agg(flow.id),
         array_agg(flow.id) filter (where flow.troubled),
         array_agg(flow.id) filter (where flow.conditional)
    into v_locked, v_troubled, v_conditional
    from (select workflows.id, workflows.troubled, workflows.conditional
            from remand.workflows
           where workflows.id = any(p_workflows)
           order by workflows.id
             for update skip locked) flow;
  v_now := coalesce(p_now, clock_timestamp());
  select gates.gated, gates.paused into v_gated, v_paused from remand.queue_gates(p_queue) gates;

  -- Park.
  if p_phase = 'claimed' and not p_workflows <@ coalesce(v_locked, '{}') then
    parked := array(
      select kept.workflow_id
        from remand.park(p_workflows, p_steps, p_attempts, p_results, p_worker, v_locked, v_now) kept);
  end if;

  -- Complete, count down.
  with given as (
    select result.workflow_id, result.step, result.attempt, result.value
      from unnest(p_workflows, p_steps, p_attempts, p_results) result(workflow_id, step, attempt, value)
     where result.workflow_id = any(v_locked)
     order by result.workflow_id, result.step
  ),
  won as (
    delete from remand.run_queue queued
     using given
     where queued.workflow_id = given.workflow_id
       and queued.step = given.step
       and queued.attempt = given.attempt
       and queued.worker = p_worker
       and queued.phase = p_phase
    returning queued.workflow_id, queued.step, queued.namespace, queued.dependency, queued.gate, given.value
  ),
  completed as (
    update remand.steps step
       set state = 'complete', result = won.value, ended_at = v_now
      from won
     where step.workflow_id = won.workflow_id
       and step.name = won.step
    returning step.workflow_id, step.children, won.namespace
  ),
  counted as (
    update remand.workflows flow
       set open_steps = flow.open_steps - ended.steps,
           state = case when flow.open_steps = ended.steps then 'complete' else flow.state end,
           state_since = case when flow.open_steps = ended.steps then v_now else flow.state_since end
      from (select completed.workflow_id, count(*)::int as steps
              from completed
             group by completed.workflow_id) ended
     where flow.id = ended.workflow_id
    returning flow.id, flow.hold
  ),
  children as (
    select completed.workflow_id, child.name, count(*)::int as parents, min(completed.namespace) as namespace,
           min(counted.hold) as hold
      from completed
      join counted on counted.id = completed.workflow_id,
           unnest(completed.children) child(name)
     group by completed.workflow_id, child.name
  )
  select (select count(*) from completed),
         array(select won.dependency from won where won.gate = 'passed'),
         array_agg(children.workflow_id), array_agg(children.name), array_agg(children.parents),
         array_agg(children.namespace), array_agg(children.hold)
    into settled, passed, v_workflows, v_children, v_parents, v_namespaces, v_holds
    from children;

  -- Release.
  if v_children is not null then
    select released.rung, released.claims
      into rung, claims
      from remand.release_children(
        v_workflows, v_children, v_parents, v_namespaces, v_holds, p_worker, p_pid, p_queue,
        case when v_paused then 0 else p_k end, v_gated, p_timeout, p_slack, p_inline_bytes,
        v_now) released;
  end if;

  -- Start what waits for more than parents, roll up.
  if v_conditional is not null then
    rung := rung || array(select remand.start_conditional(v_conditional, 'settle', v_now));
  end if;
  if v_troubled is not null then
    perform remand.roll_up(v_troubled, 'settle', v_now);
  end if;
  return next;
end $$;
