-- What the view v_staleness_monitoring shows, by what the sweep went by last: nothing before the first one.
-- With the rights of its owner, so that whoever may read the view need not read the tables.
create or replace function remand.monitored_staleness(p_limit int)
returns table (
  workflow_id uuid, namespace text, template text, version text, state text, queue text, health text,
  why text, since timestamptz, stale_at timestamptz, sign_at timestamptz, created_at timestamptz, action text,
  takes_out boolean)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select judged.workflow_id, template.namespace, template.name, template.version, judged.state, judged.queue,
         judged.health, judged.why, judged.since, judged.stale_at, judged.sign_at, judged.created_at,
         judged.action, judged.takes_out
    from remand.staleness_settings setting,
         lateral remand.staleness(
           array(select remand.stale_shown(setting.settings, now(), p_limit)), setting.settings, now()) judged
    join remand.templates template on template.id = judged.template_id
$$;
