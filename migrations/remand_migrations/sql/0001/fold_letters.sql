-- Fold up to p_limit noted changes of dead letters into the counts, the trend and the groups. One at a time: who
-- comes second waits, and finds nothing. Returns how many were folded. Idempotent: a folded change is gone.
create or replace function remand.fold_letters(p_limit int) returns int
language plpgsql as $$
declare
  v_folded int;
begin
  if not exists (select from remand.dead_letter_deltas) then return 0; end if;
  perform pg_advisory_xact_lock(hashtextextended('remand.fold_letters', 0));
  -- Groups in one order, as whoever reopens several of them takes them.
  perform g.id from remand.dead_letter_groups g
   where g.id in (select x.group_id from remand.dead_letter_deltas x order by x.seq limit p_limit)
   order by g.id for no key update;
  with folded as (
    delete from remand.dead_letter_deltas d
     where d.seq in (select x.seq from remand.dead_letter_deltas x order by x.seq limit p_limit) returning d.*),
  counted as (
    insert into remand.dead_letter_counts as c
        (namespace, template, dead_queue, reason, category, policy, status, now, ever, closed_seconds, opened, closed,
         returned)
      select f.namespace, f.template, f.dead_queue, f.reason, f.category, f.policy, f.status, sum(f.amount),
             sum(greatest(f.amount, 0)), sum(f.closed_seconds), sum(f.opened), sum(f.closed), sum(f.returned)
        from folded f group by 1, 2, 3, 4, 5, 6, 7
      on conflict (namespace, template, dead_queue, reason, category, policy, status) do update
        set now = c.now + excluded.now, ever = c.ever + excluded.ever,
            closed_seconds = c.closed_seconds + excluded.closed_seconds, opened = c.opened + excluded.opened,
            closed = c.closed + excluded.closed, returned = c.returned + excluded.returned),
  trend as (
    insert into remand.dead_letter_hours as h (group_id, hour, opened)
      select f.group_id, f.hour, sum(f.amount) from folded f where f.hour is not null group by 1, 2
      on conflict (group_id, hour) do update set opened = h.opened + excluded.opened),
  grouped as (
    update remand.dead_letter_groups g
       set letters = g.letters + x.letters, open_letters = g.open_letters + x.open,
           last_at = greatest(g.last_at, x.last_at)
      from (select f.group_id, coalesce(sum(f.amount) filter (where f.hour is not null), 0) letters,
                   coalesce(sum(f.amount) filter (where f.status in ('pending', 'investigating')), 0) open,
                   max(f.at) last_at from folded f group by 1) x
     where g.id = x.group_id)
  select count(*) into v_folded from folded;
  return v_folded;
end $$;
