-- Hold workflows that have not ended: what is queued or waits is withdrawn, what runs ends and counts,
-- nothing further is enqueued. Locks the rows in order. p_with_template: they go on when their template does.
-- Run queue rows are locked before they are looked at: a claim that is given back just now is seen.
-- Returns the workflows that were not paused before.
create or replace function remand.pause_workflows(
  p_ids uuid[], p_by text, p_reason text, p_with_template boolean, p_now timestamptz default null)
returns setof uuid
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_now timestamptz;
  v_ids uuid[]; v_workflows uuid[]; v_steps text[];
begin
  select array_agg(locked.id)
    into v_ids
    from (select workflow.id, workflow.paused_at, workflow.state
            from remand.workflows workflow
           where workflow.id = any(p_ids)
           order by workflow.id
             for update) locked
   where locked.paused_at is null
     and not remand.is_final(locked.state);
  if v_ids is null then return; end if;
  v_now := coalesce(p_now, clock_timestamp());
  insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by, reason)
    select workflow.id, 'workflow', workflow.state, 'pause', workflow.state, v_now, p_by, p_reason
      from remand.workflows workflow
     where workflow.id = any(v_ids)
     order by workflow.id;
  update remand.workflows workflow
     set paused_at = v_now, paused_by = p_by, pause_reason = p_reason, paused_with_template = p_with_template,
         hold = coalesce(workflow.hold, 'paused'), troubled = true
   where workflow.id = any(v_ids);
  perform
     from remand.run_queue queued
    where queued.workflow_id = any(v_ids)
    order by queued.workflow_id, queued.step
      for update;
  with withdrawn as (
    delete from remand.run_queue queued
     where queued.workflow_id = any(v_ids)
       and queued.phase in ('ready', 'waiting')
    returning queued.workflow_id, queued.step)
  select array_agg(withdrawn.workflow_id), array_agg(withdrawn.step)
    into v_workflows, v_steps
    from withdrawn;
  perform remand.move_steps(v_workflows, v_steps, array['enqueued', 'waiting_for_retry'], 'withdraw',
                            'pending', p_by, 'paused', v_now);
  perform remand.roll_up(v_ids, p_by, v_now);
  return query select unnest(v_ids);
end $$;
