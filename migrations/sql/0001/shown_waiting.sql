-- Workflows that wait with good reason: their turn in one of p_queues since before p_since, a breaker, a person.
-- Up to p_limit of each kind.
create or replace function remand.shown_waiting(p_queues text[], p_since timestamptz, p_limit int) returns setof uuid
language sql stable set enable_seqscan = off as $$
  select q.workflow_id from unnest(p_queues) u(queue), lateral remand.lanes(u.queue, 0, p_since) l, lateral (
    select x.workflow_id from remand.run_queue x where x.phase = 'ready' and x.queue = u.queue
       and x.namespace = l.namespace and x.priority = l.priority and x.due_at <= p_since
     order by x.due_at limit p_limit) q
  union
  select q.workflow_id from unnest(p_queues) u(queue), lateral (
    select x.workflow_id from remand.run_queue x where x.phase = 'failed' and x.queue = u.queue and x.due_at <= p_since
     order by x.due_at limit p_limit) q
  union
  (select q.workflow_id from remand.run_queue q where q.gate is not null and q.gate = 'held' limit p_limit)
  union
  (select f.id from remand.workflows f where f.paused_at is not null order by f.id limit p_limit)
  union
  (select f.id from remand.workflows f where f.state = 'blocked_by_failures' order by f.state_since limit p_limit)
$$;
