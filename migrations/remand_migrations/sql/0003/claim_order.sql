-- In which order, and how far, a claim takes from the lanes of a queue. A lane is what is ready of one
-- namespace and priority; share: lanes left with as good a right to what is left of the claim. Found by
-- steps through the index: the cost is that of the lanes, not of what lies in them.
-- By turns of four: two strictly by priority, namespaces of one priority alike; then, if a lane has waited
-- longer than p_starving_seconds, one for all such lanes alike, and one for what is newest in them. So
-- nothing starves: neither low priorities, nor a small namespace beside a large one, nor new work behind a
-- flood of old work.
create or replace function remand.claim_order(
  p_queue text, p_turn int, p_starving_seconds float, p_now timestamptz)
returns table (namespace text, priority smallint, newest_first boolean, share bigint)
language plpgsql set enable_seqscan = off set jit = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_starving_since timestamptz := p_now - make_interval(secs => p_starving_seconds);
begin
  return query
  with recursive lane as (
    (select queued.namespace, queued.priority, queued.due_at
       from remand.run_queue queued
      where queued.queue = p_queue
        and queued.phase = 'ready'
      order by queued.namespace, queued.priority desc, queued.due_at
      limit 1)
    union all
    select next.namespace, next.priority, next.due_at
      from lane,
           lateral (
             (select queued.namespace, queued.priority, queued.due_at
                from remand.run_queue queued
               where queued.queue = p_queue
                 and queued.phase = 'ready'
                 and queued.namespace = lane.namespace
                 and queued.priority < lane.priority
               order by queued.priority desc, queued.due_at
               limit 1)
             union all
             (select queued.namespace, queued.priority, queued.due_at
                from remand.run_queue queued
               where queued.queue = p_queue
                 and queued.phase = 'ready'
                 and queued.namespace > lane.namespace
               order by queued.namespace, queued.priority desc, queued.due_at
               limit 1)
             limit 1) next
  ),
  turned as (
    select lane.namespace, lane.priority, lane.due_at, random() as lot,
           -- 0: by priority. 2: the starving alike. 3: the newest of the starving.
           case when p_turn % 4 >= 2 and bool_or(lane.due_at < v_starving_since) over () then p_turn % 4
                else 0 end as mode
      from lane
  )
  select turned.namespace, turned.priority, turned.mode = 3,
         count(*) over (partition by case when turned.mode = 0 then turned.priority end
                            order by turned.lot
                            rows between current row and unbounded following)
    from turned
   where turned.mode = 0
      or turned.due_at < v_starving_since
   order by case when turned.mode = 0 then turned.priority end desc, turned.lot;
end $$;
