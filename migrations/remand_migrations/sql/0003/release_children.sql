-- Count children down by the parents that were completed, enqueue those that became ready, and claim up to
-- p_k of those of p_queue for this process. The caller, `settle_v2`, holds their workflows, and says how to
-- plan.
-- rung: the queues that got work to claim. claims: the steps that are claimed, and what they are to work on.
-- p_inline_bytes: see `parents_of`.
create or replace function remand.release_children(
  p_workflows uuid[], p_steps text[], p_parents int[], p_namespaces text[], p_holds text[], p_worker uuid,
  p_pid int, p_queue text, p_k int, p_gated text[], p_timeout float, p_slack float,
  p_inline_bytes int, p_now timestamptz)
returns table (rung text[], claims remand.claimed_step[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  with counted as (
    select child.workflow_id, child.name, child.queue, child.priority, child.attempt, child.handler,
           child.commit_each, child.input, child.depends_on, child.checkpoint, given.parents, given.namespace,
           coalesce(child.timeout_seconds, p_timeout) as seconds,
           coalesce(child.dependency, child.handler) as dependency,
           child.state = 'pending'
             and child.open_parents = given.parents
             and child.after is distinct from 'failure'
             and given.hold is null as is_ready
      from unnest(p_workflows, p_steps, p_parents, p_namespaces, p_holds)
             given(workflow_id, name, parents, namespace, hold)
      join remand.steps child on child.workflow_id = given.workflow_id and child.name = given.name
  ),
  eligible as (
    select counted.*,
           counted.is_ready
             and counted.queue = p_queue
             and counted.dependency <> all(p_gated) as may_be_claimed
      from counted
  ),
  ranked as (
    select eligible.*,
           count(*) filter (where eligible.may_be_claimed)
             over (order by eligible.priority desc, eligible.workflow_id, eligible.name) as rank
      from eligible
  ),
  child as (
    select ranked.*, ranked.may_be_claimed and ranked.rank <= p_k as is_claimed
      from ranked
  ),
  moved as (
    update remand.steps step
       set open_parents = step.open_parents - child.parents,
           state = case when child.is_claimed then 'in_progress'
                        when child.is_ready then 'enqueued'
                        else step.state end,
           enqueued_at = case when child.is_ready then p_now else step.enqueued_at end,
           started_at = case when child.is_claimed then p_now else step.started_at end,
           worker = case when child.is_claimed then p_worker else step.worker end,
           attempt = step.attempt + child.is_claimed::int
      from child
     where step.workflow_id = child.workflow_id
       and step.name = child.name
  ),
  queued as (
    insert into remand.run_queue (workflow_id, step, phase, queue, namespace, dependency, priority, due_at,
                                  attempt, worker, pid, lease_until)
      select child.workflow_id, child.name, case when child.is_claimed then 'claimed' else 'ready' end,
             child.queue, child.namespace, child.dependency, child.priority, p_now,
             child.attempt + child.is_claimed::int,
             case when child.is_claimed then p_worker end,
             case when child.is_claimed then p_pid end,
             case when child.is_claimed then p_now + make_interval(secs => child.seconds + p_slack) end
        from child
       where child.is_ready
  )
  select array(select distinct child.queue
                 from child
                where child.is_ready
                  and not child.is_claimed),
         array(select row(child.workflow_id, child.name, child.attempt + 1, child.handler, child.seconds,
                          child.commit_each, coalesce(child.input, flow.input), parents.results,
                          child.checkpoint, p_now + make_interval(secs => child.seconds + p_slack),
                          flow.template_id, 0)::remand.claimed_step
                 from child
                 join remand.workflows flow on flow.id = child.workflow_id,
                      lateral remand.parents_of(child.workflow_id, child.depends_on, p_inline_bytes) parents
                where child.is_claimed
                order by child.rank)
    into rung, claims;
  return next;
end $$;
