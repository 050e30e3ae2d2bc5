-- Move workflows to the state that their steps say, with history; the one place that knows the rule:
-- all done -> complete; something live -> steps_in_process; only back-offs -> waiting_for_retry;
-- a step in error -> blocked_by_failures, and on to error if it gives up; else -> waiting_for_dependencies.
-- Only workflows that are in motion are looked at; the caller holds their rows.
create or replace function remand.roll_up(p_ids uuid[], p_by text, p_now timestamptz) returns void
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
begin
  with in_motion as (
    select flow.id, flow.state, flow.open_steps, flow.error_steps, flow.hold, flow.gives_up
      from remand.workflows flow
     where flow.id = any(p_ids)
       and flow.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')
  ),
  seen as (
    select flow.id, flow.state, flow.gives_up,
           flow.error_steps > 0 or queued.waiting or flow.hold is not null as troubled,
           case when flow.open_steps = 0 then 'complete'
                when queued.live then 'steps_in_process'
                when queued.waiting then 'waiting_for_retry'
                when flow.error_steps > 0 then 'blocked_by_failures'
                else 'waiting_for_dependencies' end as target
      from in_motion flow,
           lateral (select exists (select
                                     from remand.run_queue row
                                    where row.workflow_id = flow.id
                                      and row.phase <> 'waiting') as live,
                           exists (select
                                     from remand.run_queue row
                                    where row.workflow_id = flow.id
                                      and row.phase = 'waiting') as waiting) queued
  ),
  moved as (
    update remand.workflows flow
       set state = case when seen.gives_up and seen.target = 'blocked_by_failures' then 'error'
                        else seen.target end,
           troubled = seen.troubled and seen.target <> 'complete',
           state_since = case when seen.target = seen.state then flow.state_since else p_now end
      from seen
     where flow.id = seen.id
  ),
  -- The ways from a state (to any target), and to a target (from any state), but for two that go straight.
  way(state, target, place, from_state, event, to_state) as (
    values
      ('waiting_for_retry', 'steps_in_process', 1, 'waiting_for_retry', 'retry_due', 'enqueuing_steps'),
      ('waiting_for_retry', 'steps_in_process', 2, 'enqueuing_steps', 'steps_enqueued', 'steps_in_process'),
      ('steps_in_process', 'waiting_for_retry', 1, 'steps_in_process', 'retry_scheduled',
       'waiting_for_retry'),
      ('waiting_for_retry', null, 1, 'waiting_for_retry', 'step_settled', 'evaluating_results'),
      ('steps_in_process', null, 1, 'steps_in_process', 'step_settled', 'evaluating_results'),
      ('waiting_for_dependencies', null, 1, 'waiting_for_dependencies', 'dependencies_ready',
       'evaluating_results'),
      (null, 'complete', 2, 'evaluating_results', 'all_steps_done', 'complete'),
      (null, 'blocked_by_failures', 2, 'evaluating_results', 'steps_failed', 'blocked_by_failures'),
      (null, 'blocked_by_failures', 3, 'blocked_by_failures', 'give_up', 'error'),
      (null, 'waiting_for_dependencies', 2, 'evaluating_results', 'none_ready', 'waiting_for_dependencies'),
      (null, 'waiting_for_retry', 2, 'evaluating_results', 'retry_scheduled', 'waiting_for_retry'),
      (null, 'steps_in_process', 2, 'evaluating_results', 'ready_steps_found', 'enqueuing_steps'),
      (null, 'steps_in_process', 3, 'enqueuing_steps', 'steps_enqueued', 'steps_in_process')
  )
  insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by)
    select seen.id, 'workflow', way.from_state, way.event, way.to_state, p_now, p_by
      from seen
      join way
        on case when (seen.state, seen.target) in (('waiting_for_retry', 'steps_in_process'),
                                                   ('steps_in_process', 'waiting_for_retry'))
                then way.state = seen.state and way.target = seen.target
                else (way.state = seen.state and way.target is null)
                  or (way.state is null and way.target = seen.target) end
     where seen.state <> seen.target
       and (way.event <> 'give_up' or seen.gives_up)
     order by seen.id, way.place;
end $$;
