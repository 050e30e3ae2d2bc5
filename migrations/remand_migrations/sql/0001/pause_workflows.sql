-- Hold workflows that have not ended: what is queued or waits is withdrawn, what runs ends and counts, nothing
-- further is enqueued. Locks the rows in order. p_with_template: they go on when their template does.
-- Run queue rows are locked before they are looked at: a claim that is given back just now is seen.
-- Returns the workflows that were not paused before.
create or replace function remand.pause_workflows(
  p_ids uuid[], p_by text, p_reason text, p_with_template boolean, p_now timestamptz default null)
returns setof uuid
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  t timestamptz; v_ids uuid[]; v_workflows uuid[]; v_steps text[];
begin
  select array_agg(x.id) into v_ids
    from (select f.id, f.paused_at, f.state from remand.workflows f where f.id = any(p_ids) order by f.id for update) x
   where x.paused_at is null and x.state not in ('complete', 'error', 'cancelled', 'resolved_manually');
  if v_ids is null then return; end if;
  t := coalesce(p_now, clock_timestamp());
  insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by, reason)
    select f.id, 'workflow', f.state, 'pause', f.state, t, p_by, p_reason
      from remand.workflows f where f.id = any(v_ids) order by f.id;
  update remand.workflows f
     set paused_at = t, paused_by = p_by, pause_reason = p_reason, paused_with_template = p_with_template,
         hold = coalesce(f.hold, 'paused'), troubled = true
   where f.id = any(v_ids);
  perform from remand.run_queue q where q.workflow_id = any(v_ids) order by q.workflow_id, q.step for update;
  with gone as (
    delete from remand.run_queue q where q.workflow_id = any(v_ids) and q.phase in ('ready', 'waiting')
    returning q.workflow_id w, q.step n)
  select array_agg(g.w), array_agg(g.n) into v_workflows, v_steps from gone g;
  perform remand.move_steps(v_workflows, v_steps, array['enqueued', 'waiting_for_retry'], 'withdraw', 'pending',
                            p_by, 'paused', t);
  perform remand.roll_up(v_ids, p_by, t);
  return query select unnest(v_ids);
end $$;
