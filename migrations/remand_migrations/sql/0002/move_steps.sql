-- The mover of steps off the straight road: compare-and-set on the state, history with it. Moves that the rows
-- keep as instants (enqueued_at, started_at) are written to history first. Joins the caller's transaction.
-- No move is earlier than the one before it, however long its caller waited for the row after it looked at the clock.
-- What a person ended no longer names a worker nor holds a result that was parked: no attempt won it, and one
-- under way is recorded as interrupted.
-- Returns the steps that moved; a step in another state is left alone.
create or replace function remand.move_steps(
  p_workflows uuid[], p_steps text[], p_from text[], p_event text, p_to text, p_by text, p_reason text,
  p_now timestamptz)
returns table (workflow_id uuid, step text)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_final boolean := p_to in ('complete', 'error', 'cancelled', 'resolved_manually');
  v_by_hand boolean := p_event in ('cancel', 'resolve_manually', 'complete_manually', 'skip', 'take_out');
  -- Workers park and fail without the workflow's row, so a person may have waited for them.
  v_now timestamptz := greatest(p_now, case when v_by_hand then
    (select max(h.at) from remand.history h where h.workflow_id = any(p_workflows)) end);
begin
  return query
  with before as (
    select s.workflow_id w, s.name n, s.state, s.enqueued_at, s.started_at, s.attempt, s.worker,
           greatest(v_now, s.enqueued_at, s.started_at) at
      from (select distinct g.w, g.n from unnest(p_workflows, p_steps) g(w, n)) k
      join remand.steps s on s.workflow_id = k.w and s.name = k.n
     where s.state = any(p_from) order by 1, 2 for update of s),
  moved as (
    update remand.steps s
       set state = p_to, enqueued_at = null, started_at = null, ended_at = case when v_final then b.at end,
           worker = case when v_by_hand then null else s.worker end,
           result = case when v_by_hand then null else s.result end
      from before b where s.workflow_id = b.w and s.name = b.n
    returning s.workflow_id w, s.name n),
  cut_short as (
    insert into remand.attempts (workflow_id, step, attempt, outcome, worker, started_at, ended_at)
      select b.w, b.n, b.attempt, 'interrupted', b.worker, b.started_at, b.at from before b
       where v_by_hand and b.state in ('in_progress', 'enqueued_for_orchestration')),
  written as (
    insert into remand.history (workflow_id, kind, step, from_state, event, to_state, at, by, reason)
      select m.w, 'step', m.n, m.from_state, m.event, m.to_state, m.at, m.by, m.reason
        from (select b.w, b.n, 1 o, 'pending' from_state, 'enqueue' event, 'enqueued' to_state, b.enqueued_at at,
                     'remand' as by, null as reason from before b where b.enqueued_at is not null
              union all
              select b.w, b.n, 2, 'enqueued', 'start', 'in_progress', b.started_at, 'claim', null
                from before b where b.started_at is not null
              union all
              select b.w, b.n, 3, b.state, p_event, p_to, b.at, p_by, p_reason from before b) m
       order by m.w, m.n, m.o)
  select m.w, m.n from moved m;
end $$;
