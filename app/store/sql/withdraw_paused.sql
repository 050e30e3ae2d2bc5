-- Withdraw what came back to the queue of a workflow that is paused or on hold (fail_fast): a claim that was given
-- back, an attempt that a shutdown cut short. Workflows that somebody else holds are left for the next look.
-- p_ids null: all that are paused. Returns how many steps.
create or replace function remand.withdraw_paused(p_ids uuid[], p_limit int, p_now timestamptz default null)
returns int
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[]; v_workflows uuid[]; v_steps text[]; v_reason text; v_reasons text[];
begin
  select array_agg(x.id) into v_ids
    from (select f.id from remand.workflows f
           where (f.paused_at is not null or (f.hold is not null and p_ids is not null))
             and (p_ids is null or f.id = any(p_ids))
             and f.state not in ('complete', 'error', 'cancelled', 'resolved_manually')
             and exists (select from remand.run_queue q where q.workflow_id = f.id and q.phase in ('ready', 'waiting'))
           limit p_limit for update skip locked) x;
  if v_ids is null then return 0; end if;
  with gone as (
    delete from remand.run_queue q where q.workflow_id = any(v_ids) and q.phase in ('ready', 'waiting')
    returning q.workflow_id w, q.step n)
  select array_agg(g.w), array_agg(g.n),
         array_agg(case when f.paused_at is not null then 'paused' else 'on hold' end)
    into v_workflows, v_steps, v_reasons
    from gone g join remand.workflows f on f.id = g.w;
  foreach v_reason in array array['paused', 'on hold'] loop
    perform remand.move_steps(
      array(select g.w from unnest(v_workflows, v_reasons) g(w, why) where g.why = v_reason),
      array(select g.n from unnest(v_steps, v_reasons) g(n, why) where g.why = v_reason),
      array['enqueued', 'waiting_for_retry'], 'withdraw', 'pending', 'sweep.ring', v_reason, t);
  end loop;
  perform remand.roll_up(v_ids, 'sweep.ring', t);
  return cardinality(v_workflows);
end $$;
