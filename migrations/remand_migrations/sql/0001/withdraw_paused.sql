-- Withdraw what came back to the queue of a paused workflow: a claim that was given back, an attempt that a shutdown
-- cut short. Workflows that somebody holds are left for the next look. p_ids null: all that are paused.
-- Returns how many steps.
create or replace function remand.withdraw_paused(p_ids uuid[], p_limit int, p_now timestamptz default null)
returns int
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[]; v_workflows uuid[]; v_steps text[];
begin
  select array_agg(x.id) into v_ids
    from (select f.id from remand.workflows f
           where f.paused_at is not null and (p_ids is null or f.id = any(p_ids))
             and f.state not in ('complete', 'error', 'cancelled', 'resolved_manually')
             and exists (select from remand.run_queue q where q.workflow_id = f.id and q.phase in ('ready', 'waiting'))
           limit p_limit for update skip locked) x;
  if v_ids is null then return 0; end if;
  with gone as (
    delete from remand.run_queue q where q.workflow_id = any(v_ids) and q.phase in ('ready', 'waiting')
    returning q.workflow_id w, q.step n)
  select array_agg(g.w), array_agg(g.n) into v_workflows, v_steps from gone g;
  perform remand.move_steps(v_workflows, v_steps, array['enqueued', 'waiting_for_retry'], 'withdraw', 'pending',
                            'sweep.ring', 'paused', t);
  perform remand.roll_up(v_ids, 'sweep.ring', t);
  return cardinality(v_workflows);
end $$;
