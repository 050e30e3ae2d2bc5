-- End attempts that a shutdown cut short: in_progress -> enqueued at once, counted neither as failed nor as lost.
-- Only the worker that holds the claims may call this. Returns the queues that have work again.
create or replace function remand.interrupt(
  p_worker uuid, p_workflows uuid[], p_steps text[], p_attempts int[], p_now timestamptz default null)
returns setof text
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_workflows uuid[]; v_steps text[]; v_queues text[];
begin
  with ours as materialized (
    select q.workflow_id w, q.step n from remand.run_queue q join unnest(p_workflows, p_steps, p_attempts) g(w, n, a)
        on q.workflow_id = g.w and q.step = g.n and q.attempt = g.a
     where q.worker = p_worker and q.phase = 'claimed' order by 1, 2 for update of q),
  held as (
    update remand.run_queue q set phase = 'ready', worker = null, pid = null, lease_until = null, due_at = t
      from ours o where q.workflow_id = o.w and q.step = o.n
    returning q.workflow_id w, q.step n, q.attempt a, q.queue),
  kept as (
    insert into remand.attempts (workflow_id, step, attempt, outcome, worker, started_at, ended_at)
      select h.w, h.n, h.a, 'interrupted', p_worker, s.started_at, t
        from held h join remand.steps s on s.workflow_id = h.w and s.name = h.n)
  select array_agg(h.w), array_agg(h.n), array_agg(distinct h.queue) into v_workflows, v_steps, v_queues from held h;
  perform remand.move_steps(v_workflows, v_steps, array['in_progress'], 'interrupt', 'enqueued', 'shutdown', null, t);
  perform remand.withdraw_paused(v_workflows, 1000, t) where v_workflows is not null;
  return query select unnest(v_queues);
end $$;
