-- Put up to p_limit ready steps of gated dependencies aside: enqueued -> waiting_for_retry, no attempt is used up.
-- due_at stays: it is the order in which they are let through again. Returns how many.
create or replace function remand.hold_back(p_limit int, p_now timestamptz default null) returns int
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  t timestamptz;
  v_gated text[] := array(select remand.gating());
  v_workflows uuid[]; v_steps text[];
begin
  if v_gated = '{}' then return 0; end if;
  with due as (
    select q.workflow_id w, q.step n from remand.run_queue q
     where q.phase = 'ready' and q.gate is null and q.dependency = any(v_gated) limit p_limit for update skip locked),
  flow as (
    select f.id from remand.workflows f where f.id in (select d.w from due d) order by f.id for update skip locked)
  select array_agg(d.w), array_agg(d.n) into v_workflows, v_steps from due d join flow f on f.id = d.w;
  if v_workflows is null then return 0; end if;
  t := coalesce(p_now, clock_timestamp());  -- after the look: none of them was enqueued later than it was held
  update remand.run_queue q set phase = 'waiting', gate = 'held'
    from unnest(v_workflows, v_steps) g(w, n) where q.workflow_id = g.w and q.step = g.n;
  perform remand.move_steps(v_workflows, v_steps, array['enqueued'], 'hold', 'waiting_for_retry', 'breaker', null, t);
  perform remand.roll_up(v_workflows, 'breaker', t);
  return cardinality(v_workflows);
end $$;
