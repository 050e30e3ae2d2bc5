-- Move workflows to the state that their steps say, with history; the one place that knows the rule:
-- all done -> complete; something live -> steps_in_process; only back-offs -> waiting_for_retry;
-- a step in error -> blocked_by_failures, and on to error if it gives up; else -> waiting_for_dependencies.
-- Only workflows that are in motion are looked at; the caller holds their rows.
create or replace function remand.roll_up(p_ids uuid[], p_by text, p_now timestamptz) returns void
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
begin
  with seen as (
    select f.id, f.state cur, f.gives_up, f.error_steps > 0 or x.waiting or f.hold is not null troubled,
           case when f.open_steps = 0 then 'complete' when x.live then 'steps_in_process'
                when x.waiting then 'waiting_for_retry' when f.error_steps > 0 then 'blocked_by_failures'
                else 'waiting_for_dependencies' end target
      from (select y.id, y.state, y.open_steps, y.error_steps, y.hold, y.gives_up from remand.workflows y where y.id = any(p_ids)
               and y.state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies')) f,
           lateral (select exists (select from remand.run_queue q
                                    where q.workflow_id = f.id and q.phase <> 'waiting') live,
                           exists (select from remand.run_queue q
                                    where q.workflow_id = f.id and q.phase = 'waiting') waiting) x),
  moved as (
    update remand.workflows f
       set state = case when s.gives_up and s.target = 'blocked_by_failures' then 'error' else s.target end,
           troubled = s.troubled and s.target <> 'complete',
           state_since = case when s.target = s.cur then f.state_since else p_now end
      from seen s where f.id = s.id)
  insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by)
    select s.id, 'workflow', p.from_state, p.event, p.to_state, p_now, p_by
      from seen s join (values
        ('waiting_for_retry', 'steps_in_process', 1, 'waiting_for_retry', 'retry_due', 'enqueuing_steps'),
        ('waiting_for_retry', 'steps_in_process', 2, 'enqueuing_steps', 'steps_enqueued', 'steps_in_process'),
        ('steps_in_process', 'waiting_for_retry', 1, 'steps_in_process', 'retry_scheduled', 'waiting_for_retry'),
        ('waiting_for_retry', null, 1, 'waiting_for_retry', 'step_settled', 'evaluating_results'),
        ('steps_in_process', null, 1, 'steps_in_process', 'step_settled', 'evaluating_results'),
        ('waiting_for_dependencies', null, 1, 'waiting_for_dependencies', 'dependencies_ready', 'evaluating_results'),
        (null, 'complete', 2, 'evaluating_results', 'all_steps_done', 'complete'),
        (null, 'blocked_by_failures', 2, 'evaluating_results', 'steps_failed', 'blocked_by_failures'),
        (null, 'blocked_by_failures', 3, 'blocked_by_failures', 'give_up', 'error'),
        (null, 'waiting_for_dependencies', 2, 'evaluating_results', 'none_ready', 'waiting_for_dependencies'),
        (null, 'waiting_for_retry', 2, 'evaluating_results', 'retry_scheduled', 'waiting_for_retry'),
        (null, 'steps_in_process', 2, 'evaluating_results', 'ready_steps_found', 'enqueuing_steps'),
        (null, 'steps_in_process', 3, 'enqueuing_steps', 'steps_enqueued', 'steps_in_process')
      ) p(cur, target, o, from_state, event, to_state)
        on case when (s.cur, s.target) in (('waiting_for_retry', 'steps_in_process'),
                                           ('steps_in_process', 'waiting_for_retry'))
                then p.cur = s.cur and p.target = s.target
                else (p.cur = s.cur and p.target is null) or (p.cur is null and p.target = s.target) end
     where s.cur <> s.target and (p.event <> 'give_up' or s.gives_up) order by s.id, p.o;
end $$;
