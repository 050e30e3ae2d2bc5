-- The spans of time in which work of these queues could not go on: nobody consumed the queue, or nothing
-- swept (which wakes retries and takes back lost claims). The row without a queue tells of the latter alone.
create or replace function remand.queue_gaps(p_queues text[], p_settings jsonb, p_now timestamptz)
returns table (queue text, gaps tstzmultirange)
language sql stable set search_path = pg_catalog, pg_temp as $$
  with known as (
    select wanted.queue,
           coalesce(service.unserved, '{}') + case
             when service.served_at is null then tstzmultirange(tstzrange(null, p_now))
             when service.served_at < p_now - make_interval(secs => away.seconds)
               then tstzmultirange(tstzrange(service.served_at, p_now))
             else '{}'
           end as gaps
      from unnest(p_queues || array['remand.maintenance']) wanted(queue)
     cross join (select coalesce((p_settings ->> 'away')::float, 60) as seconds) away
      left join remand.queue_service service on service.queue = wanted.queue)
  select asked.queue, asked.gaps + swept.gaps
    from known asked, known swept
   where asked.queue = any(p_queues)
     and swept.queue = 'remand.maintenance'
  union all
  select null, swept.gaps
    from known swept
   where swept.queue = 'remand.maintenance'
$$;
