-- Send the failed steps of many letters' workflows back to work and close the letters: what requeueing one letter
-- does, for a batch. Workflows are locked in order, then the letters; a letter that is closed, or claimed by
-- somebody else (unless p_claimed), is left alone. p_queue, p_priority: null: the steps' own.
-- Rows: kind 'requeued' (steps: those sent back) | 'skipped' (detail: why) | 'ring' (detail: a queue that got work).
create or replace function remand.requeue_letters(
  p_ids uuid[], p_by text, p_reason text, p_via text, p_redrive uuid default null, p_claimed boolean default true,
  p_queue text default null, p_priority int default null, p_now timestamptz default null)
returns table (kind text, letter_id uuid, detail text, steps text[], at timestamptz)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  t timestamptz;
  v_flows uuid[] := array(select distinct d.workflow_id from remand.dead_letters d where d.id = any(p_ids));
  v_letters uuid[]; v_before text[]; v_workflows uuid[]; v_steps text[]; v_queues text[];
begin
  perform from remand.workflows f where f.id = any(v_flows) order by f.id for update;
  t := coalesce(p_now, clock_timestamp());  -- after the locks: whoever waited acts after the one it waited for
  select array_agg(x.id), array_agg(x.workflow_id) into v_letters, v_flows
    from (select d.id, d.workflow_id, d.status, d.claimed_by from remand.dead_letters d
           where d.id = any(p_ids) order by d.id for update) x
   where x.status in ('pending', 'investigating') and (p_claimed or x.claimed_by is null or x.claimed_by = p_by);
  return query
  select 'skipped', d.id,
         case when d.closed_at is null then format('claimed by %s', d.claimed_by)
              else format('closed as %s by %s', d.status, d.closed_by) end, null::text[], t
    from remand.dead_letters d where d.id = any(p_ids) and d.id <> all(coalesce(v_letters, '{}'));
  if v_letters is null then return; end if;
  select array_agg(x.workflow_id), array_agg(x.name) into v_workflows, v_steps
    from (select s.workflow_id, s.name from remand.steps s
           where s.workflow_id = any(v_flows) and s.state = 'error' order by s.workflow_id, s.position) x;
  v_before := array(select coalesce(f.state, '') from unnest(v_flows) with ordinality g(id, o)
                      left join remand.workflows f on f.id = g.id order by g.o);
  perform remand.move_steps(v_workflows, v_steps, array['error'], 'reset_for_retry', 'pending', p_by, p_reason, t);
  perform remand.rearm_conditional(v_workflows, v_steps, p_by, p_reason, t);
  update remand.steps s set failures = 0, lost_attempts = 0, failing_since = null,
         queue = coalesce(p_queue, s.queue), priority = coalesce(p_priority, s.priority)
    from unnest(v_workflows, v_steps) g(w, n) where s.workflow_id = g.w and s.name = g.n;
  update remand.workflows f set hold = case when f.paused_at is not null then 'paused' end
   where f.id = any(v_flows) and f.hold is not null;
  perform remand.move_workflows(v_flows, array['blocked_by_failures', 'error'], 'reopen',
                                'waiting_for_dependencies', p_by, p_reason, t);
  v_queues := array(select remand.evaluate(v_flows, p_by, t));
  insert into remand.audit_log (id, at, by, via, verb, kind, subject, workflow_id, reason, before, after)
    select remand.new_uuid7(), t, p_by, p_via, 'dead_letter.requeue', 'dead_letter', d.id::text, d.workflow_id, p_reason,
           jsonb_build_object('status', d.status, 'claimed_by', d.claimed_by, 'workflow', g.state),
           jsonb_strip_nulls(jsonb_build_object('status', 'requeued', 'workflow', f.state, 'redrive', p_redrive))
      from unnest(v_letters, v_before) g(id, state) join remand.dead_letters d on d.id = g.id
      left join remand.workflows f on f.id = d.workflow_id;
  update remand.dead_letters d
     set status = 'requeued', closed_by = p_by, closed_at = t, resolution = p_reason, requeue_at = null,
         metadata = case when p_redrive is null then d.metadata
                         else d.metadata || jsonb_build_object('redrive', p_redrive) end
   where d.id = any(v_letters);
  return query
  select 'requeued', g.id, null, array(select x.n from unnest(v_workflows, v_steps) x(w, n) where x.w = g.w), t
    from unnest(v_letters, v_flows) g(id, w)
  union all
  select 'ring', null, x.queue, null, t from unnest(v_queues) x(queue);
end $$;
