-- Let paused workflows go on: what is ready is enqueued at once, a retry that was withdrawn not before it is due.
-- Locks the rows in order. p_with_template: only those that were paused with their template.
-- Rows: kind 'resumed' (id) | 'ring' (queue: it got work).
create or replace function remand.resume_workflows(
  p_ids uuid[], p_by text, p_reason text, p_with_template boolean, p_now timestamptz default null)
returns table (kind text, id uuid, queue text)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  t timestamptz; v_ids uuid[]; v_queues text[]; v_workflows uuid[]; v_steps text[];
begin
  select array_agg(x.id) into v_ids
    from (select f.id, f.paused_at, f.paused_with_template p, f.state from remand.workflows f
           where f.id = any(p_ids) order by f.id for update) x
   where x.paused_at is not null and (x.p or not p_with_template);
  if v_ids is null then return; end if;
  t := coalesce(p_now, clock_timestamp());
  insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by, reason)
    select f.id, 'workflow', f.state, 'resume', f.state, t, p_by, p_reason
      from remand.workflows f where f.id = any(v_ids)
       and f.state not in ('complete', 'error', 'cancelled', 'resolved_manually') order by f.id;
  update remand.workflows f
     set paused_at = null, paused_by = null, pause_reason = null, paused_with_template = false,
         hold = nullif(f.hold, 'paused')
   where f.id = any(v_ids);
  -- A retry that was withdrawn beside a dead step left its workflow blocked: it has something to do again.
  perform remand.move_workflows(
    array(select f.id from remand.workflows f
           where f.id = any(v_ids) and f.hold is null and f.state = 'blocked_by_failures'
             and exists (select from remand.steps s
                          where s.workflow_id = f.id and s.state = 'pending'
                            and (s.open_parents = 0 or s.after is not null))),
    array['blocked_by_failures'], 'reopen', 'waiting_for_dependencies', p_by, p_reason, t);
  v_queues := array(select remand.evaluate(v_ids, p_by, t));
  with early as (
    update remand.run_queue q set phase = 'waiting', due_at = a.due_at
      from remand.attempts a
     where q.workflow_id = any(v_ids) and q.phase = 'ready' and a.workflow_id = q.workflow_id and a.step = q.step
       and a.attempt = q.attempt and a.decision = 'retry' and a.due_at > t
    returning q.workflow_id w, q.step n)
  select array_agg(e.w), array_agg(e.n) into v_workflows, v_steps from early e;
  if v_workflows is not null then
    perform remand.move_steps(v_workflows, v_steps, array['enqueued'], 'hold', 'waiting_for_retry', p_by, null, t);
    perform remand.roll_up(v_ids, p_by, t);
  end if;
  return query select 'resumed', x.id, null from unnest(v_ids) x(id)
               union all select 'ring', null, y.q from unnest(v_queues) y(q);
end $$;
