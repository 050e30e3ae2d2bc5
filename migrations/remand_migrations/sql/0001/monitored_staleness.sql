-- What the view v_staleness_monitoring shows, by what the sweep went by last: nothing before the first one. With the
-- rights of its owner, so that whoever may read the view need not read the tables.
create or replace function remand.monitored_staleness(p_limit int)
returns table (workflow_id uuid, namespace text, template text, version text, state text, queue text, health text,
               why text, since timestamptz, stale_at timestamptz, sign_at timestamptz, created_at timestamptz,
               action text, takes_out boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.workflow_id, t.namespace, t.name, t.version, s.state, s.queue, s.health, s.why, s.since, s.stale_at,
         s.sign_at, s.created_at, s.action, s.takes_out
    from remand.staleness_settings k,
         lateral remand.staleness(array(select remand.stale_shown(k.settings, now(), p_limit)), k.settings, now()) s
    join remand.templates t on t.id = s.template_id
$$;
