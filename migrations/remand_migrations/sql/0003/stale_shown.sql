-- Workflows of which is shown how they stand: all that warn or are stale, and those that are longest in each
-- state, up to p_limit of each, whatever they wait for.
create or replace function remand.stale_shown(p_settings jsonb, p_now timestamptz, p_limit int)
returns setof uuid
language sql stable set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  select *
    from remand.stale_candidates(p_settings, p_now, true)
  union
  select oldest.id
    from unnest(array['pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results',
                      'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures']) live(state),
         lateral (select workflow.id
                    from remand.workflows workflow
                   where workflow.state = live.state
                     and not remand.is_final(workflow.state)
                   order by workflow.state_since
                   limit p_limit) oldest
$$;
