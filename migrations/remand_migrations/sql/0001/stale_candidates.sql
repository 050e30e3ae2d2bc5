-- Workflows that may be past what is allowed, or (p_warning) past the share of it that warns; p_unwarned: only those
-- that nobody was warned of. More than are, none that is left out. Range scans of live work alone: the cost is that of what is found. What a
-- person holds and what waits its turn in a queue with live workers is not looked at before its lifetime is over.
create or replace function remand.stale_candidates(p_settings jsonb, p_now timestamptz, p_warning boolean, p_unwarned boolean default false)
returns setof uuid
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_live int[]; v_process timestamptz; v_retry timestamptz; v_still timestamptz; v_unheard text[];
begin
  with recursive live(t) as (
    (select f.template_id from remand.workflows f where f.paused_at is null and f.state not in
       ('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures') order by f.template_id limit 1)
    union all
    select (select f.template_id from remand.workflows f where f.paused_at is null and f.state not in
       ('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures') and f.template_id > l.t
       order by f.template_id limit 1) from live l where l.t is not null)
  select array_agg(l.t) into v_live from live l where l.t is not null;
  select p_now - make_interval(secs => min(c.in_process * s.share)), p_now - make_interval(secs => min(c.retry * s.share)),
         p_now - make_interval(secs => min(least(c.dependencies, c.other) * s.share))
    into v_process, v_retry, v_still
    from remand.lifecycles(p_settings, v_live) c, lateral (select case when p_warning then c.share else 1 end share) s;
  with recursive ready as (
    (select q.queue from remand.run_queue q where q.phase = 'ready' order by q.queue limit 1)
    union all
    select (select q.queue from remand.run_queue q where q.phase = 'ready' and q.queue > r.queue order by q.queue limit 1)
      from ready r where r.queue is not null),
  failed as (
    (select q.queue from remand.run_queue q where q.phase = 'failed' order by q.queue limit 1)
    union all
    select (select q.queue from remand.run_queue q where q.phase = 'failed' and q.queue > f.queue order by q.queue limit 1)
      from failed f where f.queue is not null)
  select array_agg(k.queue) into v_unheard
    from remand.queue_life(array(select r.queue from ready r where r.queue is not null union
                                 select f.queue from failed f where f.queue is not null), p_settings, p_now) k
   where not k.heard and not k.paused and coalesce(k.unheard_from <= v_process, true);
  -- Each search says its order of joins (offset 0): what is live has no statistics that a plan could go by.
  return query
  select c.id
    from (
      select x.id from remand.lifecycles(p_settings, v_live) c, lateral (
        select y.id from remand.workflows y where y.template_id = c.template_id and y.paused_at is null and y.state not in
           ('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures')
           and y.created_at <= p_now - make_interval(secs => c.lifetime * case when p_warning then c.share else 1 end)
        offset 0) x
      union
      select q.workflow_id from unnest(v_unheard) u(queue), lateral remand.lanes(u.queue, 0, p_now) l, lateral (
        select x.workflow_id from remand.run_queue x where x.phase = 'ready' and x.queue = u.queue
           and x.namespace = l.namespace and x.priority = l.priority and x.due_at <= v_process offset 0) q
      union
      select q.workflow_id from unnest(v_unheard) u(queue), lateral (
        select x.workflow_id from remand.run_queue x
         where x.phase = 'failed' and x.queue = u.queue and x.due_at <= v_process offset 0) q
      union
      select q.workflow_id from remand.run_queue q where q.phase = 'waiting' and q.gate is null and q.due_at <= v_retry
      union
      select q.workflow_id from remand.run_queue q
       where q.phase = 'settling' or (q.phase = 'claimed' and q.lease_until <= v_process)
      union
      select y.id from remand.workflows y where y.state_since <= v_still and y.state in
        ('pending', 'initializing', 'enqueuing_steps', 'evaluating_results', 'waiting_for_dependencies')) c(id), lateral (
      select from remand.workflows f where f.id = c.id and (not p_unwarned or f.stale_warned_at is null) offset 0) f;
end $$;
