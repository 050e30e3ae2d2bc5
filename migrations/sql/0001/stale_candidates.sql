-- Workflows that may be past the share of what is allowed that warns: more than are, none that is left out but what
-- look_for_still finds. Range scans of live work alone, so that the cost is that of what is found. p_shown: also, up
-- to p_limit of each kind, what waits with good reason: its turn, a breaker, a person.
create or replace function remand.stale_candidates(
  p_settings jsonb, p_now timestamptz, p_shown boolean default false, p_limit int default 1000)
returns setof uuid
language plpgsql stable set enable_seqscan = off as $$
declare
  v_live int[]; v_process timestamptz; v_retry timestamptz; v_rest timestamptz; v_blocked timestamptz;
  v_alive uuid[]; v_unheard text[]; v_heard text[];
begin
  with recursive live(t) as (
    (select f.template_id from remand.workflows f where f.paused_at is null and f.state not in
       ('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures') order by f.template_id limit 1)
    union all
    select (select f.template_id from remand.workflows f where f.paused_at is null and f.state not in
       ('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures') and f.template_id > l.t
       order by f.template_id limit 1) from live l where l.t is not null)
  select array_agg(l.t) into v_live from live l where l.t is not null;
  select p_now - make_interval(secs => min(c.in_process * c.share)), p_now - make_interval(secs => min(c.retry * c.share)),
         p_now - make_interval(secs => min(least(c.dependencies, c.other) * c.share))
    into v_process, v_retry, v_rest from remand.lifecycles(p_settings, v_live) c;
  select array_agg(w.id), array_agg(distinct q.queue) into v_alive, v_heard
    from remand.live_workers((p_settings ->> 'gone')::float, (p_settings ->> 'silent')::float,
                             (p_settings ->> 'pause')::float, p_now) w, unnest(w.queues) q(queue);
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
  select array_agg(x.queue) filter (where x.queue <> all(coalesce(v_heard, '{}'))), array_agg(x.queue)
    into v_unheard, v_heard
    from (select r.queue from ready r union select f.queue from failed f) x where x.queue is not null;
  return query
  select f.id from remand.lifecycles(p_settings, v_live) c, lateral (
    select x.id from remand.workflows x where x.template_id = c.template_id and x.paused_at is null and x.state not in
       ('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures')
       and x.created_at <= p_now - make_interval(secs => c.lifetime * c.share)) f
  union
  select q.workflow_id from unnest(v_unheard) u(queue), lateral remand.lanes(u.queue, 0, p_now) l, lateral (
    select x.workflow_id from remand.run_queue x where x.phase = 'ready' and x.queue = u.queue
       and x.namespace = l.namespace and x.priority = l.priority and x.due_at <= v_process) q
  union
  select q.workflow_id from unnest(v_unheard) u(queue), lateral (
    select x.workflow_id from remand.run_queue x where x.phase = 'failed' and x.queue = u.queue and x.due_at <= v_process) q
  union
  select q.workflow_id from remand.run_queue q where q.phase = 'waiting' and q.gate is null and q.due_at <= v_retry
  union
  select q.workflow_id from remand.run_queue q where q.phase in ('claimed', 'settling')
     and (q.phase = 'settling' or q.lease_until <= p_now or q.worker <> all(coalesce(v_alive, '{}')))
  union
  select f.id from remand.workflows f where f.hold is null and f.state_since <= v_rest and f.state in
    ('pending', 'initializing', 'enqueuing_steps', 'evaluating_results', 'waiting_for_dependencies');
  if p_shown then
    return query select s.id from remand.shown_waiting(v_heard, v_process, p_limit) s(id);
  end if;
end $$;
