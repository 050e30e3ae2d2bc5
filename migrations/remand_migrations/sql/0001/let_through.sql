-- Let up to p_limit held steps of a dependency through its breaker, the most urgent and oldest first:
-- waiting_for_retry -> enqueued. p_queues: they are probes, from these queues only; of the first thousand those that
-- have been tried least, so that a long outage does not use up the most urgent steps.
-- The caller holds the breaker's row. Returns how many, and the queues that got work.
create or replace function remand.let_through(
  p_dependency text, p_limit int, p_by text, p_now timestamptz, p_queues text[] default null)
returns table (released int, queues text[])
language plpgsql set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_workflows uuid[]; v_steps text[]; v_queues text[];
begin
  if p_queues is null then
    with due as (
      select q.workflow_id w, q.step n from remand.run_queue q
       where q.dependency = p_dependency and q.gate = 'held'
       order by q.priority desc, q.due_at limit p_limit for update skip locked),
    flow as (
      select f.id from remand.workflows f where f.id in (select d.w from due d) order by f.id for update skip locked)
    select array_agg(d.w), array_agg(d.n) into v_workflows, v_steps from due d join flow f on f.id = d.w;
  else
    with first as materialized (
      select q.workflow_id w, q.step n, q.attempt, q.priority, q.due_at from remand.run_queue q
       where q.dependency = p_dependency and q.gate = 'held' and q.queue = any(p_queues)
       order by q.priority desc, q.due_at limit 1000),
    least as materialized (
      select x.w, x.n from first x order by x.attempt, x.priority desc, x.due_at limit p_limit),
    due as (
      select q.workflow_id w, q.step n from least l join remand.run_queue q on q.workflow_id = l.w and q.step = l.n
       where q.gate = 'held' for update of q skip locked),
    flow as (
      select f.id from remand.workflows f where f.id in (select d.w from due d) order by f.id for update skip locked)
    select array_agg(d.w), array_agg(d.n) into v_workflows, v_steps from due d join flow f on f.id = d.w;
  end if;
  with passed as (
    update remand.run_queue q set phase = 'ready', gate = 'passed' from unnest(v_workflows, v_steps) g(w, n)
     where q.workflow_id = g.w and q.step = g.n returning q.queue)
  select array_agg(distinct x.queue) into v_queues from passed x;
  perform remand.move_steps(v_workflows, v_steps, array['waiting_for_retry'], 'release', 'enqueued', p_by, null, p_now);
  perform remand.roll_up(v_workflows, p_by, p_now);
  return query select coalesce(cardinality(v_workflows), 0), coalesce(v_queues, '{}');
end $$;
