-- Lock the retry budgets of handlers, in one order for everybody, and return what of each is used up: attempts and
-- retries counted within the last p_seconds, and the next free turn of its line. Counted after the lock is held: what
-- another worker decided meanwhile is seen.
create or replace function remand.lock_budgets(
  p_namespaces text[], p_handlers text[], p_seconds float, p_now timestamptz)
returns table (namespace text, handler text, attempts int, retries int, next_at timestamptz)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  insert into remand.retry_budgets (namespace, handler, next_at)
    select g.n, g.h, p_now from unnest(p_namespaces, p_handlers) g(n, h) order by g.n, g.h on conflict do nothing;
  perform from remand.retry_budgets b join unnest(p_namespaces, p_handlers) g(n, h)
       on b.namespace = g.n and b.handler = g.h order by b.namespace, b.handler for update of b;
  return query
  select b.namespace, b.handler, coalesce(x.attempts, 0)::int, coalesce(x.retries, 0)::int, b.next_at
    from unnest(p_namespaces, p_handlers) g(n, h)
    join remand.retry_budgets b on b.namespace = g.n and b.handler = g.h
    left join lateral (
      select sum(t.attempts) attempts, sum(t.retries) retries from remand.traffic t
       where t.namespace = g.n and t.handler = g.h and t.bucket > p_now - make_interval(secs => p_seconds)) x on true;
end $$;
