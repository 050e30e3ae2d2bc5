-- Let paused workflows go on: what is ready is enqueued at once, a retry that was withdrawn not before it is
-- due.
-- Locks the rows in order. p_with_template: only those that were paused with their template.
-- Rows: kind 'resumed' (id) | 'ring' (queue: it got work).
create or replace function remand.resume_workflows(
  p_ids uuid[], p_by text, p_reason text, p_with_template boolean, p_now timestamptz default null)
returns table (kind text, id uuid, queue text)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_ids uuid[]; v_blocked uuid[]; v_queues text[]; v_workflows uuid[]; v_steps text[];
begin
  select array_agg(locked.id)
    into v_ids
    from (select workflow.id, workflow.paused_at, workflow.paused_with_template
            from remand.workflows workflow
           where workflow.id = any(p_ids)
           order by workflow.id
             for update) locked
   where locked.paused_at is not null
     and (locked.paused_with_template or not p_with_template);
  if v_ids is null then return; end if;
  v_now := coalesce(p_now, clock_timestamp());
  insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by, reason)
    select workflow.id, 'workflow', workflow.state, 'resume', workflow.state, v_now, p_by, p_reason
      from remand.workflows workflow
     where workflow.id = any(v_ids)
       and not remand.is_final(workflow.state)
     order by workflow.id;
  update remand.workflows workflow
     set paused_at = null, paused_by = null, pause_reason = null, paused_with_template = false,
         hold = nullif(workflow.hold, 'paused')
   where workflow.id = any(v_ids);
  -- A retry that was withdrawn beside a dead step left its workflow blocked: it has something to do again.
  v_blocked := array(
    select workflow.id
      from remand.workflows workflow
     where workflow.id = any(v_ids)
       and workflow.hold is null
       and workflow.state = 'blocked_by_failures'
       and exists (select
                     from remand.steps step
                    where step.workflow_id = workflow.id
                      and step.state = 'pending'
                      and (step.open_parents = 0 or step.after is not null)));
  perform remand.move_workflows(v_blocked, array['blocked_by_failures'], 'reopen', 'waiting_for_dependencies',
                                p_by, p_reason, v_now);
  v_queues := array(select remand.evaluate(v_ids, p_by, v_now));
  with early as (
    update remand.run_queue queued
       set phase = 'waiting', due_at = attempt.due_at
      from remand.attempts attempt
     where queued.workflow_id = any(v_ids)
       and queued.phase = 'ready'
       and attempt.workflow_id = queued.workflow_id
       and attempt.step = queued.step
       and attempt.attempt = queued.attempt
       and attempt.decision = 'retry'
       and attempt.due_at > v_now
    returning queued.workflow_id, queued.step)
  select array_agg(early.workflow_id), array_agg(early.step)
    into v_workflows, v_steps
    from early;
  if v_workflows is not null then
    perform remand.move_steps(v_workflows, v_steps, array['enqueued'], 'hold', 'waiting_for_retry', p_by,
                              null, v_now);
    perform remand.roll_up(v_ids, p_by, v_now);
  end if;
  return query
  select 'resumed', resumed.id, null
    from unnest(v_ids) resumed(id)
  union all
  select 'ring', null, woken.queue
    from unnest(v_queues) woken(queue);
end $$;
