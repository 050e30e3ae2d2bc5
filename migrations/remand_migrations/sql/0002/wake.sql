-- Enqueue steps that wait for their retry: waiting_for_retry -> enqueued. The caller holds the workflow rows.
-- Returns the queues that got work.
create or replace function remand.wake(p_workflows uuid[], p_steps text[], p_by text, p_now timestamptz)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_queues text[];
begin
  with woken as (
    update remand.run_queue q set phase = 'ready', due_at = p_now, gate = null
      from unnest(p_workflows, p_steps) g(w, n)
     where q.workflow_id = g.w and q.step = g.n and q.phase = 'waiting'
    returning q.queue)
  select array_agg(distinct w.queue) into v_queues from woken w;
  if v_queues is null then return; end if;
  perform remand.move_steps(p_workflows, p_steps, array['waiting_for_retry'], 'retry', 'enqueued', p_by, null, p_now);
  perform remand.roll_up(p_workflows, p_by, p_now);
  return query select unnest(v_queues);
end $$;
