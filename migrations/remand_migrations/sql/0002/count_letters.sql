-- Trigger: note what a statement changed of dead letters, in as few rows as there are kinds; folded by fold_letters.
-- Inserts only, so that those who open and close letters never wait for each other.
create or replace function remand.count_letters() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into remand.dead_letter_deltas
        (hour, at, group_id, namespace, template, dead_queue, reason, category, policy, status, amount, closed_seconds,
         opened, returned)
      select date_trunc('hour', n.opened_at), max(n.opened_at), n.group_id, n.namespace, n.template, n.dead_queue,
             n.reason, n.category, n.policy, n.status, count(*), 0, count(*), count(n.follows)
        from changed n group by 1, 3, 4, 5, 6, 7, 8, 9, 10;
  elsif tg_op = 'DELETE' then
    -- Kept no longer: it is in no status now, but was opened and closed all the same.
    insert into remand.dead_letter_deltas
        (hour, at, group_id, namespace, template, dead_queue, reason, category, policy, status, amount, closed_seconds)
      select null, max(o.opened_at), o.group_id, o.namespace, o.template, o.dead_queue, o.reason, o.category, o.policy,
             o.status, -count(*), 0
        from before o group by 3, 4, 5, 6, 7, 8, 9, 10;
  else
    insert into remand.dead_letter_deltas
        (hour, at, group_id, namespace, template, dead_queue, reason, category, policy, status, amount, closed_seconds,
         closed)
      select null, max(x.opened_at), x.group_id, x.namespace, x.template, x.dead_queue, x.reason, x.category,
             x.policy, x.status, sum(x.amount), sum(x.seconds), sum(x.closed)
        from (select o.opened_at, o.group_id, o.namespace, o.template, o.dead_queue, o.reason, o.category, o.policy,
                     o.status, -1 amount, 0 seconds, 0 closed
                from before o join changed n on n.id = o.id
               where (o.status, o.group_id, o.dead_queue, o.reason) is distinct from
                     (n.status, n.group_id, n.dead_queue, n.reason)
              union all
              select n.opened_at, n.group_id, n.namespace, n.template, n.dead_queue, n.reason, n.category, n.policy,
                     n.status, 1, case when o.closed_at is null and n.closed_at is not null
                                       then extract(epoch from n.closed_at - n.opened_at) else 0 end,
                     (o.closed_at is null and n.closed_at is not null)::int
                from before o join changed n on n.id = o.id
               where (o.status, o.group_id, o.dead_queue, o.reason) is distinct from
                     (n.status, n.group_id, n.dead_queue, n.reason)) x
       group by 3, 4, 5, 6, 7, 8, 9, 10, x.amount;
  end if;
  return null;
end $$;
