-- How workflows stand that have not ended: what is known of them, and the judgement. takes_out: the next sweep takes
-- it out of work. The one place where thresholds meet signs of life: sweep, lists and view read it.
create or replace function remand.staleness(p_ids uuid[], p_settings jsonb, p_now timestamptz)
returns table (workflow_id uuid, template_id int, state text, created_at timestamptz, born_at timestamptz,
               sign_at timestamptz, stand text, unheard_since timestamptz, queue text, health text, why text,
               since timestamptz, stale_at timestamptz, action text, takes_out boolean)
language sql stable set enable_seqscan = off set jit = off as $$
  with signs as materialized (select * from remand.vital_signs(p_ids, p_settings, p_now)),
  cycles as materialized (
    select * from remand.lifecycles(p_settings, array(select distinct s.template_id from signs s)))
  select s.*, j.health, j.why, j.since, j.since + make_interval(secs => j.limit_seconds), c.action,
         j.health = 'stale' and c.action <> 'none'
    from signs s join cycles c on c.template_id = s.template_id,
         lateral remand.judge_life(s.state, s.born_at, s.sign_at, s.stand, s.unheard_since, c.dependencies, c.retry,
           c.in_process, c.other, c.lifetime, c.share, p_now) j
$$;
