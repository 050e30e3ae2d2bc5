-- Workflows of which is shown how they stand: all that warn or are stale, and those that are longest in each state,
-- up to p_limit of each, whatever they wait for.
create or replace function remand.stale_shown(p_settings jsonb, p_now timestamptz, p_limit int) returns setof uuid
language sql stable set enable_seqscan = off set jit = off as $$
  select * from remand.stale_candidates(p_settings, p_now, true)
  union
  select x.id from unnest(array['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results',
      'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures']) s(state), lateral (
    select f.id from remand.workflows f where f.state = s.state
       and f.state not in ('complete', 'error', 'cancelled', 'resolved_manually')
     order by f.state_since limit p_limit) x
$$;
