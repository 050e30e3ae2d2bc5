-- How a workflow stands that has not ended, by that of its measures that it does worst by; the domain decides the
-- same in `staleness.judge`. p_hold: paused, queue_paused, held_by_breaker or null. The order of measures decides
-- between equals.
create or replace function remand.judge_life(
  p_state text, p_born timestamptz, p_sign timestamptz, p_hold text, p_running boolean, p_turn boolean,
  p_never_ready boolean, p_letter boolean, p_unheard timestamptz,
  p_dependencies float, p_retry float, p_in_process float, p_other float, p_lifetime float, p_share float,
  p_now timestamptz)
returns table (health text, why text, since timestamptz, limit_seconds float)
language sql immutable as $$
  with stands as (
    select case when p_state = 'blocked_by_failures' and p_letter then 'has_letter' else p_hold end stand,
           case p_state when 'waiting_for_dependencies' then p_dependencies when 'waiting_for_retry' then p_retry
                        when 'steps_in_process' then p_in_process else p_other end allowed),
  person as (
    select s.*, coalesce(s.stand in ('has_letter', 'paused', 'queue_paused'), false) by_person from stands s),
  measures as (
    select m.o, m.why, m.since, m.allowed, extract(epoch from p_now - m.since)::float waited
      from person s, lateral (values
        (1, 'worker_unavailable', p_unheard, p_in_process, p_unheard is not null and not s.by_person),
        (2, 'never_ready', p_sign, 0::float, p_never_ready and s.stand is null),
        (3, 'lifetime', p_born, p_lifetime, not s.by_person),
        (4, case when s.by_person then s.stand when p_running then 'running' when s.stand is not null then s.stand
                 when p_turn then 'waits_its_turn' else 'state' end, p_sign, s.allowed,
            s.stand is not null or p_running or p_turn or p_unheard is null)) m(o, why, since, allowed, counts)
     where m.counts),
  ranked as (
    select m.*, m.why in ('running', 'waits_its_turn', 'held_by_breaker', 'queue_paused', 'paused', 'has_letter') patient
      from measures m),
  told as (
    select r.*, case when r.why = 'running' or r.waited < r.allowed * p_share then 0
                     when r.waited < r.allowed or (r.patient and r.why <> 'has_letter') then 1 else 2 end rank
      from ranked r)
  select (array['healthy', 'warning', 'stale'])[t.rank + 1], t.why, t.since, t.allowed
    from told t order by t.rank desc, t.patient, t.o limit 1
$$;
