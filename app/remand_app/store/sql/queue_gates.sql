-- What keeps work of a queue from being claimed: the gated dependencies, and whether the queue is paused.
-- Both tables are tiny and nearly always say nothing. Parsed when made, not SET: callers inline it.
create or replace function remand.queue_gates(p_queue text) returns table (gated text[], paused boolean)
language sql stable begin atomic
  select array(select breaker.name
                 from remand.breakers breaker
                where breaker.state <> 'closed' or breaker.releasing_since is not null),
         exists (select from remand.pauses pause where pause.queue = p_queue);
end;
