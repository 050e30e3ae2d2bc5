-- How workflows stand that have not ended: what is known of them, and the judgement. takes_out: the next
-- sweep takes it out of work. The one place where thresholds meet signs of life: sweep, lists and view read
-- it.
create or replace function remand.staleness(p_ids uuid[], p_settings jsonb, p_now timestamptz)
returns table (workflow_id uuid, template_id int, state text, created_at timestamptz, born_at timestamptz,
               sign_at timestamptz, stand text, unheard_since timestamptz, queue text, health text, why text,
               since timestamptz, stale_at timestamptz, action text, takes_out boolean)
language sql stable set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  with liveness as materialized (
    select * from remand.workflow_liveness(p_ids, p_settings, p_now)),
  cycle as materialized (
    select *
      from remand.lifecycles(p_settings, array(select distinct liveness.template_id from liveness)))
  select liveness.*, judged.health, judged.why, judged.since,
         judged.since + make_interval(secs => judged.limit_seconds), cycle.action,
         judged.health = 'stale' and cycle.action <> 'none'
    from liveness
    join cycle on cycle.template_id = liveness.template_id,
         lateral remand.classify_staleness(
           liveness.state, liveness.born_at, liveness.sign_at, liveness.stand, liveness.unheard_since,
           cycle.dependencies, cycle.retry, cycle.in_process, cycle.other, cycle.lifetime, cycle.share,
           p_now) judged
$$;
