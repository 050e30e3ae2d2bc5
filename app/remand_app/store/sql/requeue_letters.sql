-- Send the failed steps of many letters' workflows back to work and close the letters: what requeueing one
-- letter does, for a batch. Workflows are locked in order, then the letters; a letter that is closed, or
-- claimed by somebody else (unless p_claimed), is left alone. p_queue, p_priority: null: the steps' own.
-- Rows: kind 'requeued' (steps: those sent back) | 'skipped' (detail: why) | 'ring' (detail: a queue that got
-- work).
create or replace function remand.requeue_letters(
  p_ids uuid[], p_by text, p_reason text, p_via text, p_redrive uuid default null,
  p_claimed boolean default true, p_queue text default null, p_priority int default null,
  p_now timestamptz default null)
returns table (kind text, letter_id uuid, detail text, steps text[], at timestamptz)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_owners uuid[] := array(
    select distinct letter.workflow_id
      from remand.dead_letters letter
     where letter.id = any(p_ids));
  v_letters uuid[]; v_letter_workflows uuid[]; v_before text[];
  v_workflows uuid[]; v_steps text[]; v_queues text[];
begin
  perform
     from remand.workflows workflow
    where workflow.id = any(v_owners)
    order by workflow.id
      for update;
  -- After the locks: whoever waited acts after the one it waited for.
  v_now := coalesce(p_now, clock_timestamp());
  select array_agg(locked.id), array_agg(locked.workflow_id)
    into v_letters, v_letter_workflows
    from (select letter.id, letter.workflow_id, letter.status, letter.claimed_by
            from remand.dead_letters letter
           where letter.id = any(p_ids)
           order by letter.id
             for update) locked
   where locked.status in ('pending', 'investigating')
     and (p_claimed or locked.claimed_by is null or locked.claimed_by = p_by);
  return query
  select 'skipped', letter.id,
         case when letter.closed_at is null then format('claimed by %s', letter.claimed_by)
              else format('closed as %s by %s', letter.status, letter.closed_by)
         end,
         null::text[], v_now
    from remand.dead_letters letter
   where letter.id = any(p_ids)
     and letter.id <> all(coalesce(v_letters, '{}'));
  if v_letters is null then return; end if;
  select array_agg(failed.workflow_id), array_agg(failed.name)
    into v_workflows, v_steps
    from (select step.workflow_id, step.name
            from remand.steps step
           where step.workflow_id = any(v_letter_workflows)
             and step.state = 'error'
           order by step.workflow_id, step.position) failed;
  v_before := array(
    select coalesce(workflow.state, '')
      from unnest(v_letter_workflows) with ordinality given(id, place)
      left join remand.workflows workflow on workflow.id = given.id
     order by given.place);
  perform remand.move_steps(v_workflows, v_steps, array['error'], 'reset_for_retry', 'pending', p_by,
                            p_reason, v_now);
  perform remand.rearm_conditional(v_workflows, v_steps, p_by, p_reason, v_now);
  update remand.steps step
     set failures = 0, lost_attempts = 0, failing_since = null,
         queue = coalesce(p_queue, step.queue), priority = coalesce(p_priority, step.priority)
    from unnest(v_workflows, v_steps) given(workflow_id, name)
   where step.workflow_id = given.workflow_id
     and step.name = given.name;
  update remand.workflows workflow
     set hold = case when workflow.paused_at is not null then 'paused' end
   where workflow.id = any(v_letter_workflows)
     and workflow.hold is not null;
  perform remand.move_workflows(v_letter_workflows, array['blocked_by_failures', 'error'], 'reopen',
                                'waiting_for_dependencies', p_by, p_reason, v_now);
  v_queues := array(select remand.evaluate(v_letter_workflows, p_by, v_now));
  insert into remand.audit_log (id, at, by, via, verb, kind, subject, workflow_id, reason, before, after)
    select remand.new_uuid7(), v_now, p_by, p_via, 'dead_letter.requeue', 'dead_letter', letter.id::text,
           letter.workflow_id, p_reason,
           jsonb_build_object(
             'status', letter.status, 'claimed_by', letter.claimed_by, 'workflow', given.state),
           jsonb_strip_nulls(
             jsonb_build_object('status', 'requeued', 'workflow', workflow.state, 'redrive', p_redrive))
      from unnest(v_letters, v_before) given(id, state)
      join remand.dead_letters letter on letter.id = given.id
      left join remand.workflows workflow on workflow.id = letter.workflow_id;
  update remand.dead_letters letter
     set status = 'requeued', closed_by = p_by, closed_at = v_now, resolution = p_reason, requeue_at = null,
         metadata = case when p_redrive is null then letter.metadata
                         else letter.metadata || jsonb_build_object('redrive', p_redrive)
                    end
   where letter.id = any(v_letters);
  return query
  select 'requeued', letter.id, null,
         array(select sent.name
                 from unnest(v_workflows, v_steps) sent(workflow_id, name)
                where sent.workflow_id = letter.workflow_id),
         v_now
    from unnest(v_letters, v_letter_workflows) letter(id, workflow_id)
  union all
  select 'ring', null, woken.queue, null, v_now
    from unnest(v_queues) woken(queue);
end $$;
