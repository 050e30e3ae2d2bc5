-- In which order, and how far, a claim takes from the lanes of a queue: what is ready of one namespace and priority.
-- share: lanes left with as good a right to what is left of the claim. Found by steps through the index: the cost
-- is that of the lanes, not of what lies in them.
-- By turns of four: two strictly by priority, namespaces of one priority alike; then, if a lane has waited longer
-- than five seconds, one for all such lanes alike, and one for what is newest in them. So nothing starves: neither
-- low priorities, nor a small namespace beside a large one, nor new work behind a flood of old or retried work.
create or replace function remand.lanes(p_queue text, p_turn int, p_now timestamptz)
returns table (namespace text, priority smallint, newest_first boolean, share bigint)
language plpgsql set enable_seqscan = off set jit = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
begin
  return query
  with recursive lane as (
    (select q.namespace ns, q.priority p, q.due_at from remand.run_queue q
      where q.queue = p_queue and q.phase = 'ready' order by q.namespace, q.priority desc, q.due_at limit 1)
    union all
    select x.ns, x.p, x.due_at from lane l, lateral (
      (select q.namespace ns, q.priority p, q.due_at from remand.run_queue q
        where q.queue = p_queue and q.phase = 'ready' and q.namespace = l.ns and q.priority < l.p
        order by q.priority desc, q.due_at limit 1)
      union all
      (select q.namespace, q.priority, q.due_at from remand.run_queue q
        where q.queue = p_queue and q.phase = 'ready' and q.namespace > l.ns
        order by q.namespace, q.priority desc, q.due_at limit 1)
      limit 1) x),
  told as (
    select l.*, case when p_turn % 4 >= 2 and bool_or(l.due_at < p_now - interval '5 seconds') over () then p_turn % 4
                     else 0 end mode, random() r from lane l)
  select x.ns, x.p, x.mode = 3,
         count(*) over (partition by case when x.mode = 0 then x.p end
                            order by x.r rows between current row and unbounded following)
    from told x where x.mode = 0 or x.due_at < p_now - interval '5 seconds'
   order by case when x.mode = 0 then x.p end desc, x.r;
end $$;
