-- Give claims back that were never started: in_progress -> enqueued, uncounted, as if never claimed.
-- p_steps null: all claims of the process (p_pid null: of the worker) but the ones in p_except.
-- Only the worker that holds the claims may call this. Returns the queues that have work again.
create or replace function remand.give_back(
  p_worker uuid, p_pid int, p_workflows uuid[], p_steps text[], p_except_workflows uuid[], p_except_steps text[],
  p_now timestamptz default null)
returns setof text
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  v_workflows uuid[]; v_queues text[];
begin
  with held as materialized (
    select q.workflow_id w, q.step n from remand.run_queue q
     where q.worker = p_worker and q.phase = 'claimed' and (p_pid is null or q.pid = p_pid)
       and (p_steps is null
            or (q.workflow_id, q.step) in (select g.w, g.n from unnest(p_workflows, p_steps) g(w, n)))
       and (q.workflow_id, q.step) not in (select e.w, e.n from unnest(p_except_workflows, p_except_steps) e(w, n))
     order by 1, 2 for update),
  freed as (
    update remand.run_queue q
       set phase = 'ready', worker = null, pid = null, lease_until = null, attempt = q.attempt - 1
      from held h where q.workflow_id = h.w and q.step = h.n
    returning q.workflow_id w, q.step n, q.queue),
  reset as (
    update remand.steps s
       set state = 'enqueued', attempt = s.attempt - 1, started_at = null, worker = null
      from freed f where s.workflow_id = f.w and s.name = f.n)
  select array_agg(distinct f.w), array_agg(distinct f.queue) into v_workflows, v_queues from freed f;
  perform remand.withdraw_paused(v_workflows, 1000, p_now) where v_workflows is not null;
  return query select unnest(v_queues);
end $$;
