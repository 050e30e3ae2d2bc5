-- The breakers that gate their dependency now. Joins the caller's transaction and keeps the rows from moving
-- until it ends; one that somebody is moving is left out and seen by the next sweep.
create or replace function remand.gating_breakers() returns setof text
language sql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  select breaker.name
    from remand.breakers breaker
   where breaker.state <> 'closed'
      or breaker.releasing_since is not null
   order by breaker.name
     for share skip locked
$$;
