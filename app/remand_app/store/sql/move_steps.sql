-- The mover of steps off the straight road: compare-and-set on the state, history with it. Moves that the
-- rows keep as instants (enqueued_at, started_at) are written to history first. Joins the caller's
-- transaction.
-- No move is earlier than the one before it, however long its caller waited for the row after it looked at
-- the clock.
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
  v_final boolean := remand.is_final(p_to);
  v_by_hand boolean := p_event in ('cancel', 'resolve_manually', 'complete_manually', 'skip', 'take_out');
  v_now timestamptz := p_now;
begin
  if v_by_hand then
    -- Workers park and fail without the workflow's row, so a person may have waited for them.
    v_now := greatest(p_now, (select max(move.at)
                                from remand.history move
                               where move.workflow_id = any(p_workflows)));
  end if;
  return query
  with before as (
    select step.workflow_id, step.name, step.state, step.enqueued_at, step.started_at, step.attempt,
           step.worker, greatest(v_now, step.enqueued_at, step.started_at) as at
      from (select distinct named.workflow_id, named.name
              from unnest(p_workflows, p_steps) named(workflow_id, name)) given
      join remand.steps step on step.workflow_id = given.workflow_id and step.name = given.name
     where step.state = any(p_from)
     order by step.workflow_id, step.name
       for update of step),
  moved as (
    update remand.steps step
       set state = p_to, enqueued_at = null, started_at = null,
           ended_at = case when v_final then before.at end,
           worker = case when v_by_hand then null else step.worker end,
           result = case when v_by_hand then null else step.result end
      from before
     where step.workflow_id = before.workflow_id
       and step.name = before.name
    returning step.workflow_id, step.name),
  cut_short as (
    insert into remand.attempts (workflow_id, step, attempt, outcome, worker, started_at, ended_at)
      select before.workflow_id, before.name, before.attempt, 'interrupted', before.worker, before.started_at,
             before.at
        from before
       where v_by_hand
         and before.state in ('in_progress', 'enqueued_for_orchestration')),
  recorded as (
    insert into remand.history (workflow_id, kind, step, from_state, event, to_state, at, by, reason)
      select move.workflow_id, 'step', move.name, move.from_state, move.event, move.to_state, move.at,
             move.by, move.reason
        from (select before.workflow_id, before.name, 1 as place, 'pending' as from_state, 'enqueue' as event,
                     'enqueued' as to_state, before.enqueued_at as at, 'remand' as by, null as reason
                from before
               where before.enqueued_at is not null
              union all
              select before.workflow_id, before.name, 2, 'enqueued', 'start', 'in_progress',
                     before.started_at, 'claim', null
                from before
               where before.started_at is not null
              union all
              select before.workflow_id, before.name, 3, before.state, p_event, p_to, before.at, p_by,
                     p_reason
                from before) move
       order by move.workflow_id, move.name, move.place)
  select moved.workflow_id, moved.name from moved;
end $$;
