-- Lock the retry budgets of handlers, in one order for everybody, and return what of each is used up:
-- attempts and retries counted within the last p_seconds, and the next free turn of its line. Counted after
-- the lock is held: what another worker decided meanwhile is seen.
create or replace function remand.lock_budgets(
  p_namespaces text[], p_handlers text[], p_seconds float, p_now timestamptz)
returns table (namespace text, handler text, attempts int, retries int, next_at timestamptz)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  insert into remand.retry_budgets (namespace, handler, next_at)
    select given.namespace, given.handler, p_now
      from unnest(p_namespaces, p_handlers) given(namespace, handler)
     order by given.namespace, given.handler
    on conflict do nothing;
  perform
     from remand.retry_budgets budget
     join unnest(p_namespaces, p_handlers) given(namespace, handler)
       on budget.namespace = given.namespace
      and budget.handler = given.handler
    order by budget.namespace, budget.handler
      for update of budget;
  return query
  select budget.namespace, budget.handler, coalesce(used.attempts, 0)::int, coalesce(used.retries, 0)::int,
         budget.next_at
    from unnest(p_namespaces, p_handlers) given(namespace, handler)
    join remand.retry_budgets budget
      on budget.namespace = given.namespace
     and budget.handler = given.handler
    left join lateral (
      select sum(traffic.attempts) as attempts, sum(traffic.retries) as retries
        from remand.traffic traffic
       where traffic.namespace = given.namespace
         and traffic.handler = given.handler
         and traffic.bucket > p_now - make_interval(secs => p_seconds)) used on true;
end $$;
