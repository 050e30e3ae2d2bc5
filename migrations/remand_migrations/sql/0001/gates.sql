-- What keeps work of a queue from being claimed: the gated dependencies, and whether the queue is paused.
-- Both tables are tiny and nearly always say nothing. Without a SET of its own, so that callers inline it.
create or replace function remand.gates(p_queue text) returns table (gated text[], paused boolean)
language sql stable as $$
  select array(select b.name from remand.breakers b where b.state <> 'closed' or b.releasing_since is not null),
         exists (select from remand.pauses x where x.queue = p_queue)
$$;
