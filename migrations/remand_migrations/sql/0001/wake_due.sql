-- Wake up to p_limit retries that are due; those whose dependency is gated are held instead, where they are.
-- Returns how many were taken, and the queues that got work.
create or replace function remand.wake_due(p_limit int, p_now timestamptz default null)
returns table (woken int, queues text[])
language plpgsql set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_gated text[] := array(select remand.gating());
  v_held int := 0; v_workflows uuid[]; v_steps text[];
begin
  if v_gated <> '{}' then
    with due as (
      select q.workflow_id w, q.step n from remand.run_queue q
       where q.phase = 'waiting' and q.gate is null and q.due_at <= t and q.dependency = any(v_gated)
       order by q.due_at limit p_limit for update skip locked)
    update remand.run_queue q set gate = 'held' from due d where q.workflow_id = d.w and q.step = d.n;
    get diagnostics v_held = row_count;
  end if;
  with due as (
    select q.workflow_id w, q.step n from remand.run_queue q
     where q.phase = 'waiting' and q.gate is null and q.due_at <= t and q.dependency <> all(v_gated)
     order by q.due_at limit p_limit for update skip locked),
  flow as (
    select f.id from remand.workflows f where f.id in (select d.w from due d) order by f.id for update skip locked)
  select array_agg(d.w), array_agg(d.n) into v_workflows, v_steps from due d join flow f on f.id = d.w;
  return query
    select v_held + coalesce(cardinality(v_workflows), 0),
           array(select remand.wake(v_workflows, v_steps, 'sweep.ring', t) where v_workflows is not null);
end $$;
