-- How a workflow stands that has not ended, by that of its measures that it does worst by; the domain decides
-- the same in `staleness.judge`. p_stand: why it waits with good reason, else null. Between equals, what says
-- most, then what ends first.
create or replace function remand.classify_staleness(
  p_state text, p_born timestamptz, p_sign timestamptz, p_stand text, p_unheard timestamptz,
  p_dependencies float, p_retry float, p_in_process float, p_other float, p_lifetime float, p_share float,
  p_now timestamptz)
returns table (health text, why text, since timestamptz, limit_seconds float)
language sql immutable begin atomic
  with measures as (
    select measure.place, measure.why, measure.since, measure.allowed, measure.patient,
           extract(epoch from p_now - measure.since)::float as waited
      from (select coalesce(p_stand in ('blocked', 'paused', 'queue_paused'), false) as by_person) held,
           lateral (values
             (1, 'worker_unavailable', p_unheard, p_in_process, false,
              p_unheard is not null and not held.by_person),
             (2, 'lifetime', p_born, p_lifetime, false, not held.by_person),
             (3, coalesce(p_stand, 'state'), p_sign,
              case p_state
                when 'waiting_for_dependencies' then p_dependencies
                when 'waiting_for_retry' then p_retry
                when 'steps_in_process' then p_in_process
                else p_other
              end,
              p_stand is not null, p_stand is not null or p_unheard is null))
             measure(place, why, since, allowed, patient, counts)
     where measure.counts),
  ranked as (
    select measures.*,
           case when measures.why = 'running' or measures.waited < measures.allowed * p_share then 0
                when measures.waited < measures.allowed or measures.patient then 1
                else 2
           end as rank
      from measures)
  select (array['healthy', 'warning', 'stale'])[ranked.rank + 1], ranked.why, ranked.since, ranked.allowed
    from ranked
   order by ranked.rank desc, ranked.why <> 'worker_unavailable', ranked.patient <> (ranked.rank = 0),
         ranked.since + make_interval(secs => ranked.allowed), ranked.place
   limit 1;
end;
