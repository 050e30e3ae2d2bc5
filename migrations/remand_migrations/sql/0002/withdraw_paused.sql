-- Withdraw what came back to the queue of a workflow that is paused or on hold (fail_fast): a claim that was given
-- back, an attempt that a shutdown cut short. Workflows that somebody else holds are left for the next look.
-- What follows a failure ("after") runs where a workflow failed fast.
-- p_ids null: all that are paused, or on hold and yet in motion. Returns how many steps.
create or replace function remand.withdraw_paused(p_ids uuid[], p_limit int, p_now timestamptz default null)
returns int
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  t timestamptz := coalesce(p_now, clock_timestamp());
  v_ids uuid[] := p_ids;
  v_workflows uuid[]; v_steps text[]; v_reason text; v_reasons text[];
begin
  if p_ids is null then
    v_ids := array(
      select flow.id from remand.workflows flow where flow.paused_at is not null
      union
      select flow.id from remand.workflows flow
       where flow.hold is not null
         and flow.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies'));
  end if;
  select array_agg(found.id) into v_ids
    from (select flow.id from remand.workflows flow
           where flow.id = any(v_ids)
             and (flow.paused_at is not null or flow.hold is not null)
             and flow.state not in ('complete', 'error', 'cancelled', 'resolved_manually')
             and exists (select from remand.run_queue queued
                          where queued.workflow_id = flow.id and queued.phase in ('ready', 'waiting'))
           limit p_limit for update skip locked) found;
  if v_ids is null then return 0; end if;
  with gone as (
    delete from remand.run_queue queued using remand.steps step, remand.workflows flow
     where queued.workflow_id = any(v_ids)
       and queued.phase in ('ready', 'waiting')
       and step.workflow_id = queued.workflow_id
       and step.name = queued.step
       and flow.id = queued.workflow_id
       and (flow.paused_at is not null or flow.hold <> 'fail_fast' or step.after is null)
    returning queued.workflow_id, queued.step)
  select array_agg(gone.workflow_id), array_agg(gone.step),
         array_agg(case when flow.paused_at is not null then 'paused' else 'on hold' end)
    into v_workflows, v_steps, v_reasons
    from gone join remand.workflows flow on flow.id = gone.workflow_id;
  if v_workflows is null then return 0; end if;
  foreach v_reason in array array['paused', 'on hold'] loop
    perform remand.move_steps(
      array(select w from unnest(v_workflows, v_reasons) came(w, why) where came.why = v_reason),
      array(select n from unnest(v_steps, v_reasons) came(n, why) where came.why = v_reason),
      array['enqueued', 'waiting_for_retry'], 'withdraw', 'pending', 'sweep.ring', v_reason, t);
  end loop;
  perform remand.roll_up(v_ids, 'sweep.ring', t);
  return cardinality(v_workflows);
end $$;
