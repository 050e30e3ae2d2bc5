-- See how letters that a redrive sent have ended: the next p_limit of those unfinished, in order, behind p_after.
-- failed: the workflow has a new letter, was cancelled, or ended in error without one; succeeded: what was sent back is done.
-- Returns how many were looked at, the last position of them, and how many succeeded and failed.
create or replace function remand.follow_redrive(p_redrive uuid, p_after int, p_limit int, p_now timestamptz)
returns table (looked int, last int, succeeded int, failed int)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query
  with looked as (
    select i.position, i.letter_id, i.workflow_id, i.steps, i.sent_at from remand.redrive_items i
     where i.redrive_id = p_redrive and i.state = 'sent' and i.position > p_after order by i.position limit p_limit),
  judged as (
    select l.position, n.id new_letter,
           case when n.id is not null then n.why
                when f.state = 'cancelled' then 'its workflow was cancelled before what was sent back had ended'
                when f.state = 'error' then 'its workflow ended in error: it keeps no dead letters' end why,
           case when n.id is not null or f.state in ('cancelled', 'error') then 'failed'
                when f.state in ('complete', 'resolved_manually')
                  or not exists (select from remand.steps s where s.workflow_id = l.workflow_id
                                    and s.name = any(l.steps) and s.state not in ('complete', 'resolved_manually'))
                then 'succeeded' end outcome
      from looked l
      left join remand.workflows f on f.id = l.workflow_id
      left join lateral (
        select d.id, format('%s: %s (step %s)', d.error_class, split_part(d.error_message, E'\n', 1), d.step) why
          from remand.dead_letters d
         where d.workflow_id = l.workflow_id
           and (d.opened_at > l.sent_at or d.opened_at = l.sent_at and d.id > l.letter_id)
         order by d.opened_at, d.id limit 1) n on true),
  ended as (
    update remand.redrive_items i
       set state = j.outcome, reason = j.why, new_letter_id = j.new_letter, at = p_now
      from judged j where i.redrive_id = p_redrive and i.position = j.position and j.outcome is not null
    returning i.state)
  select (select count(*)::int from looked), (select max(l.position) from looked l),
         (select count(*)::int from ended e where e.state = 'succeeded'),
         (select count(*)::int from ended e where e.state = 'failed');
end $$;
