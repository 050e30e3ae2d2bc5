-- See how letters that a redrive sent have ended: the next p_limit of those unfinished, in order, behind
-- p_after.
-- failed: the workflow has a new letter, was cancelled, or ended in error without one; succeeded: what was
-- sent back is done.
-- Returns how many were looked at, the last position of them, and how many succeeded and failed.
create or replace function remand.collect_redrive_outcomes(
  p_redrive uuid, p_after int, p_limit int, p_now timestamptz)
returns table (looked int, last int, succeeded int, failed int)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query
  with sent as (
    select item.position, item.letter_id, item.workflow_id, item.steps, item.sent_at
      from remand.redrive_items item
     where item.redrive_id = p_redrive
       and item.state = 'sent'
       and item.position > p_after
     order by item.position
     limit p_limit),
  judged as (
    select sent.position, new_letter.id as new_letter_id,
           case when new_letter.id is not null then new_letter.error
                when workflow.state = 'cancelled'
                  then 'its workflow was cancelled before what was sent back had ended'
                when workflow.state = 'error'
                  then 'its workflow ended in error: it keeps no dead letters'
           end as reason,
           case when new_letter.id is not null or workflow.state in ('cancelled', 'error')
                  then 'failed'
                when workflow.state in ('complete', 'resolved_manually')
                     or not exists (select
                                      from remand.steps step
                                     where step.workflow_id = sent.workflow_id
                                       and step.name = any(sent.steps)
                                       and step.state not in ('complete', 'resolved_manually'))
                  then 'succeeded'
           end as outcome
      from sent
      left join remand.workflows workflow on workflow.id = sent.workflow_id
      left join lateral (
        select letter.id,
               format('%s: %s (step %s)', letter.error_class, split_part(letter.error_message, E'\n', 1),
                      letter.step) as error
          from remand.dead_letters letter
         where letter.workflow_id = sent.workflow_id
           and (letter.opened_at > sent.sent_at
                or (letter.opened_at = sent.sent_at and letter.id > sent.letter_id))
         order by letter.opened_at, letter.id
         limit 1) new_letter on true),
  ended as (
    update remand.redrive_items item
       set state = judged.outcome, reason = judged.reason, new_letter_id = judged.new_letter_id, at = p_now
      from judged
     where item.redrive_id = p_redrive
       and item.position = judged.position
       and judged.outcome is not null
    returning item.state)
  select (select count(*)::int from sent),
         (select max(sent.position) from sent),
         (select count(*)::int from ended where ended.state = 'succeeded'),
         (select count(*)::int from ended where ended.state = 'failed');
end $$;
