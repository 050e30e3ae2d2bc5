-- Enqueue every pending step whose parents are satisfied, then roll the workflows up; the caller holds their rows.
-- Used after an operator's decision. Returns the queues that got work.
create or replace function remand.evaluate(p_ids uuid[], p_by text, p_now timestamptz) returns setof text
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  v_queues text[];
begin
  update remand.steps s set open_parents = x.c
    from (select y.workflow_id w, y.name n,
                 (select count(*) from remand.steps p where p.workflow_id = y.workflow_id
                     and p.name = any(y.depends_on) and p.state not in ('complete', 'resolved_manually')) c
            from remand.steps y where y.workflow_id = any(p_ids) and y.state = 'pending') x
   where s.workflow_id = x.w and s.name = x.n and s.open_parents <> x.c;
  with ready as (
    update remand.steps s set state = 'enqueued', enqueued_at = p_now
      from remand.workflows f
     where f.id = any(p_ids) and f.hold is null and s.workflow_id = f.id and s.state = 'pending'
       and s.open_parents = 0
       and f.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
    returning s.workflow_id w, s.name n, s.queue, f.template_id, coalesce(s.dependency, s.handler) dependency, s.priority, s.attempt),
  queued as (
    insert into remand.run_queue (workflow_id, step, phase, queue, namespace, dependency, priority, due_at, attempt)
      select r.w, r.n, 'ready', r.queue, y.namespace, r.dependency, r.priority, p_now, r.attempt
        from ready r join remand.templates y on y.id = r.template_id)
  select array_agg(distinct r.queue) into v_queues from ready r;
  update remand.workflows f
     set open_steps = x.open, error_steps = x.failed
    from (select s.workflow_id w, count(*) filter (where s.state not in ('complete', 'resolved_manually', 'cancelled')) open,
                 count(*) filter (where s.state = 'error') failed
            from remand.steps s where s.workflow_id = any(p_ids) group by s.workflow_id) x
   where f.id = x.w;
  perform remand.roll_up(p_ids, p_by, p_now);
  return query select unnest(v_queues);
end $$;
