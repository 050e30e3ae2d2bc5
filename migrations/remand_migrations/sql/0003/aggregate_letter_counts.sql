-- Add up to p_limit noted changes of dead letters to the counts, the trend and the groups. One at a time: who
-- comes second waits, and finds nothing. Returns how many were added. Idempotent: a change that was added is
-- gone.
create or replace function remand.aggregate_letter_counts(p_limit int) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_taken int;
begin
  if not exists (select from remand.dead_letter_deltas) then return 0; end if;
  -- The lock has the name that code of revision 0002 takes it by.
  perform pg_advisory_xact_lock(hashtextextended('remand.fold_letters', 0));
  -- Groups in one order, as whoever reopens several of them takes them.
  perform letter_group.id
     from remand.dead_letter_groups letter_group
    where letter_group.id in (select delta.group_id
                                from remand.dead_letter_deltas delta
                               order by delta.seq
                               limit p_limit)
    order by letter_group.id
      for no key update;
  with taken as (
    delete from remand.dead_letter_deltas delta
     where delta.seq in (select next.seq
                           from remand.dead_letter_deltas next
                          order by next.seq
                          limit p_limit)
    returning delta.*),
  counted as (
    insert into remand.dead_letter_counts as kept
        (namespace, template, dead_queue, reason, category, policy, status,
         now, ever, closed_seconds, opened, closed, returned)
      select taken.namespace, taken.template, taken.dead_queue, taken.reason, taken.category, taken.policy,
             taken.status, sum(taken.amount), sum(greatest(taken.amount, 0)), sum(taken.closed_seconds),
             sum(taken.opened), sum(taken.closed), sum(taken.returned)
        from taken
       group by taken.namespace, taken.template, taken.dead_queue, taken.reason, taken.category, taken.policy,
             taken.status
      on conflict (namespace, template, dead_queue, reason, category, policy, status) do update
        set now = kept.now + excluded.now,
            ever = kept.ever + excluded.ever,
            closed_seconds = kept.closed_seconds + excluded.closed_seconds,
            opened = kept.opened + excluded.opened,
            closed = kept.closed + excluded.closed,
            returned = kept.returned + excluded.returned),
  trend as (
    insert into remand.dead_letter_hours as kept (group_id, hour, opened)
      select taken.group_id, taken.hour, sum(taken.amount)
        from taken
       where taken.hour is not null
       group by taken.group_id, taken.hour
      on conflict (group_id, hour) do update
        set opened = kept.opened + excluded.opened),
  grouped as (
    update remand.dead_letter_groups letter_group
       set letters = letter_group.letters + changed.letters,
           open_letters = letter_group.open_letters + changed.open_letters,
           last_at = greatest(letter_group.last_at, changed.last_at)
      from (select taken.group_id,
                   coalesce(sum(taken.amount) filter (where taken.hour is not null), 0) as letters,
                   coalesce(sum(taken.amount) filter (where taken.status in ('pending', 'investigating')), 0)
                     as open_letters,
                   max(taken.at) as last_at
              from taken
             group by taken.group_id) changed
     where letter_group.id = changed.group_id)
  select count(*) into v_taken from taken;
  return v_taken;
end $$;
