-- How a workflow stands that has not ended, by that of its measures that it does worst by; the domain decides the
-- same in `staleness.judge`. p_stand: why it waits with good reason, else null. Between equals, what says most,
-- then what ends first.
create or replace function remand.judge_life(
  p_state text, p_born timestamptz, p_sign timestamptz, p_stand text, p_unheard timestamptz,
  p_dependencies float, p_retry float, p_in_process float, p_other float, p_lifetime float, p_share float,
  p_now timestamptz)
returns table (health text, why text, since timestamptz, limit_seconds float)
language sql immutable begin atomic
  with measures as (
    select m.o, m.why, m.since, m.allowed, m.patient, extract(epoch from p_now - m.since)::float waited
      from (select coalesce(p_stand in ('blocked', 'paused', 'queue_paused'), false) by_person) b, lateral (values
        (1, 'worker_unavailable', p_unheard, p_in_process, false, p_unheard is not null and not b.by_person),
        (2, 'lifetime', p_born, p_lifetime, false, not b.by_person),
        (3, coalesce(p_stand, 'state'), p_sign,
            case p_state when 'waiting_for_dependencies' then p_dependencies when 'waiting_for_retry' then p_retry
                         when 'steps_in_process' then p_in_process else p_other end,
            p_stand is not null, p_stand is not null or p_unheard is null)) m(o, why, since, allowed, patient, counts)
     where m.counts),
  told as (
    select m.*, case when m.why = 'running' or m.waited < m.allowed * p_share then 0
                     when m.waited < m.allowed or m.patient then 1 else 2 end rank from measures m)
  select (array['healthy', 'warning', 'stale'])[t.rank + 1], t.why, t.since, t.allowed
    from told t
   order by t.rank desc, t.why <> 'worker_unavailable', t.patient <> (t.rank = 0),
            t.since + make_interval(secs => t.allowed), t.o
   limit 1;
end;
