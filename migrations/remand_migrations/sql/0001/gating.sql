-- The breakers that gate their dependency now. Joins the caller's transaction and keeps the rows from moving until it
-- ends; one that somebody is moving is left out and seen by the next sweep.
create or replace function remand.gating() returns setof text
language sql set enable_seqscan = off set jit = off as $$
  select b.name from remand.breakers b
   where b.state <> 'closed' or b.releasing_since is not null order by b.name for share skip locked
$$;
