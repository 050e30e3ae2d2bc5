-- Record the results of a batch: complete the steps, count down their children, enqueue the ready ones, complete
-- the workflows. A result counts only if this worker still holds that very attempt. Ready steps of p_queue come
-- back claimed, up to p_k. A workflow whose row somebody else holds is not waited for: its results are parked.
-- Rows: kind 'claimed' (a step to run, as from claim) | 'ring' (step = a queue that got work)
--     | 'parked' (step of that workflow) | 'settled' (one per result that counted) | 'passed' (step = a dependency
--     whose breaker had let results through, attempt = how many).
create or replace function remand.settle(
  p_workflows uuid[], p_steps text[], p_attempts int[], p_results jsonb[], p_worker uuid, p_pid int,
  p_queue text, p_k int, p_timeout float, p_slack float, p_phase text default 'claimed',
  p_now timestamptz default null)
returns table (kind text, workflow_id uuid, step text, attempt int, handler text, timeout_seconds float,
               commit_each boolean, input jsonb, parents jsonb, checkpoint jsonb, lease_until timestamptz, template_id int)
language plpgsql set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  t timestamptz;
  v_got uuid[]; v_troubled uuid[]; v_conditional uuid[]; v_gated text[]; v_paused boolean;
begin
  select array_agg(x.id), array_agg(x.id) filter (where x.troubled), array_agg(x.id) filter (where x.conditional)
    into v_got, v_troubled, v_conditional
    from (select f.id, f.troubled, f.conditional from remand.workflows f
           where f.id = any(p_workflows) order by f.id for update skip locked) x;
  t := coalesce(p_now, clock_timestamp());
  select g.gated, g.paused into v_gated, v_paused from remand.gates(p_queue) g;
  if p_phase = 'claimed' and not p_workflows <@ coalesce(v_got, '{}') then
    return query select 'parked', p.w, p.n, 0, null, 0::float, false, null::jsonb, null::jsonb, null::jsonb,
                        null::timestamptz, null::int
      from remand.park(p_workflows, p_steps, p_attempts, p_results, p_worker, v_got, t) p(w, n);
  end if;
  return query
  with given as (
    select g.w, g.n, g.a, g.r from unnest(p_workflows, p_steps, p_attempts, p_results) g(w, n, a, r)
     where g.w = any(v_got) order by g.w, g.n),
  won as (
    delete from remand.run_queue q using given g
     where q.workflow_id = g.w and q.step = g.n and q.attempt = g.a and q.worker = p_worker and q.phase = p_phase
    returning q.workflow_id w, q.step n, q.namespace, q.dependency, q.gate),
  done as (
    update remand.steps s set state = 'complete', result = g.r, ended_at = t
      from won join given g on g.w = won.w and g.n = won.n
     where s.workflow_id = won.w and s.name = won.n
    returning s.workflow_id w, s.name n, s.children, won.namespace),
  flow as (
    update remand.workflows f
       set open_steps = f.open_steps - x.c,
           state = case when f.open_steps = x.c then 'complete' else f.state end,
           state_since = case when f.open_steps = x.c then t else f.state_since end
      from (select d.w, count(*)::int c from done d group by d.w) x where f.id = x.w
    returning f.id, f.input, f.hold, f.template_id),
  fewer as (select d.w, c.n, count(*)::int c, min(d.namespace) ns from done d, unnest(d.children) c(n) group by 1, 2),
  next as (
    select y.*, y.ready and y.queue = p_queue and y.dependency <> all(v_gated) and not v_paused
                and count(*) filter (where y.ready and y.queue = p_queue and y.dependency <> all(v_gated))
                      over (order by y.priority desc, y.w, y.n) <= p_k mine
      from (select s.workflow_id w, s.name n, s.queue, s.priority, s.attempt + 1 attempt, c.c, c.ns,
                   coalesce(s.timeout_seconds, p_timeout) seconds, coalesce(s.dependency, s.handler) dependency,
                   s.open_parents = c.c and s.state = 'pending' and f.hold is null
                     and s.after is distinct from 'failure' ready
              from fewer c join remand.steps s on s.workflow_id = c.w and s.name = c.n
              join flow f on f.id = c.w) y),
  moved as (
    update remand.steps s
       set open_parents = s.open_parents - x.c,
           state = case when x.mine then 'in_progress' when x.ready then 'enqueued' else s.state end,
           enqueued_at = case when x.ready then t else s.enqueued_at end,
           started_at = case when x.mine then t else s.started_at end,
           worker = case when x.mine then p_worker else s.worker end,
           attempt = case when x.mine then x.attempt else s.attempt end
      from next x where s.workflow_id = x.w and s.name = x.n
    returning s.workflow_id w, s.name n, s.attempt, s.handler, x.seconds, s.commit_each, s.input, s.checkpoint,
              s.depends_on, x.mine),
  queued as (
    insert into remand.run_queue (workflow_id, step, phase, queue, namespace, dependency, priority, due_at, attempt,
                                  worker, pid, lease_until)
      select x.w, x.n, case when x.mine then 'claimed' else 'ready' end, x.queue, x.ns, x.dependency, x.priority, t,
             case when x.mine then x.attempt else x.attempt - 1 end, case when x.mine then p_worker end,
             case when x.mine then p_pid end, case when x.mine then t + make_interval(secs => x.seconds + p_slack) end
        from next x where x.ready
    returning run_queue.workflow_id w, run_queue.step n, run_queue.lease_until)
  select 'claimed', m.w, m.n, m.attempt, m.handler, m.seconds, m.commit_each, coalesce(m.input, f.input),
         (select case when max(x.bytes) > 500000 then '"stored"'
                      else jsonb_object_agg(x.name, x.result) filter (where x.bytes <= 500000) end
            from (select p.name, coalesce(g.r, p.result) result,
                         sum(coalesce(pg_column_size(coalesce(g.r, p.result)), 0)) over () bytes
                    from unnest(m.depends_on) named(name),
                         -- "offset 0": each parent by its whole key; a join would read all steps of the workflow.
                         lateral (select s.name, s.result
                                    from remand.steps s
                                   where s.workflow_id = m.w
                                     and s.name = named.name
                                  offset 0) p
                         left join given g on g.w = m.w and g.n = p.name) x),
         m.checkpoint, q.lease_until, f.template_id
    from moved m join flow f on f.id = m.w join queued q on q.w = m.w and q.n = m.n where m.mine
  union all
  select 'ring', null, x.queue, 0, null, 0, false, null, null, null, null, null
    from next x where x.ready and not x.mine group by x.queue
  union all
  select 'settled', d.w, d.n, 0, null, 0, false, null, null, null, null, null from done d
  union all
  select 'passed', null, x.dependency, count(*)::int, null, 0, false, null, null, null, null, null
    from won x where x.gate = 'passed' group by x.dependency;
  if v_conditional is not null then
    return query select 'ring', null::uuid, x.queue, 0, null, 0::float, false, null::jsonb, null::jsonb, null::jsonb,
                        null::timestamptz, null::int
      from remand.start_conditional(v_conditional, 'settle', t) x(queue);
  end if;
  if v_troubled is not null then perform remand.roll_up(v_troubled, 'settle', t); end if;
end $$;
