-- Trigger: note what a statement changed of dead letters, in as few rows as there are kinds; added up by
-- aggregate_letter_counts.
-- Inserts only, so that those who open and close letters never wait for each other.
create or replace function remand.count_letters() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into remand.dead_letter_deltas
        (hour, at, group_id, namespace, template, dead_queue, reason, category, policy, status,
         amount, closed_seconds, opened, returned)
      select date_trunc('hour', letter.opened_at), max(letter.opened_at), letter.group_id, letter.namespace,
             letter.template, letter.dead_queue, letter.reason, letter.category, letter.policy, letter.status,
             count(*), 0, count(*), count(letter.follows)
        from changed letter
       group by date_trunc('hour', letter.opened_at), letter.group_id, letter.namespace, letter.template,
             letter.dead_queue, letter.reason, letter.category, letter.policy, letter.status;
  elsif tg_op = 'DELETE' then
    -- Kept no longer: it is in no status now, but was opened and closed all the same.
    insert into remand.dead_letter_deltas
        (hour, at, group_id, namespace, template, dead_queue, reason, category, policy, status,
         amount, closed_seconds)
      select null, max(letter.opened_at), letter.group_id, letter.namespace, letter.template,
             letter.dead_queue, letter.reason, letter.category, letter.policy, letter.status, -count(*), 0
        from before letter
       group by letter.group_id, letter.namespace, letter.template, letter.dead_queue, letter.reason,
             letter.category, letter.policy, letter.status;
  else
    insert into remand.dead_letter_deltas
        (hour, at, group_id, namespace, template, dead_queue, reason, category, policy, status,
         amount, closed_seconds, closed)
      select null, max(delta.opened_at), delta.group_id, delta.namespace, delta.template, delta.dead_queue,
             delta.reason, delta.category, delta.policy, delta.status,
             sum(delta.amount), sum(delta.seconds), sum(delta.closed)
        from (select was.opened_at, was.group_id, was.namespace, was.template, was.dead_queue, was.reason,
                     was.category, was.policy, was.status, -1 as amount, 0 as seconds, 0 as closed
                from before was
                join changed is_now on is_now.id = was.id
               where (was.status, was.group_id, was.dead_queue, was.reason)
                     is distinct from (is_now.status, is_now.group_id, is_now.dead_queue, is_now.reason)
              union all
              select is_now.opened_at, is_now.group_id, is_now.namespace, is_now.template, is_now.dead_queue,
                     is_now.reason, is_now.category, is_now.policy, is_now.status, 1,
                     case when was.closed_at is null and is_now.closed_at is not null
                          then extract(epoch from is_now.closed_at - is_now.opened_at)
                          else 0
                     end,
                     (was.closed_at is null and is_now.closed_at is not null)::int
                from before was
                join changed is_now on is_now.id = was.id
               where (was.status, was.group_id, was.dead_queue, was.reason)
                     is distinct from (is_now.status, is_now.group_id, is_now.dead_queue, is_now.reason)
             ) delta
       group by delta.group_id, delta.namespace, delta.template, delta.dead_queue, delta.reason,
             delta.category, delta.policy, delta.status, delta.amount;
  end if;
  return null;
end $$;
