-- What holds for templates (null: for all) of how long their workflows may be without a sign of life, in
-- seconds:
-- what a template says itself, else what is set.
create or replace function remand.lifecycles(p_settings jsonb, p_templates int[] default null)
returns table (template_id int, dependencies float, retry float, in_process float, other float,
               lifetime float, action text, share float)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select template.id,
         (effective.settings ->> 'max_waiting_for_dependencies_seconds')::float,
         (effective.settings ->> 'max_waiting_for_retry_seconds')::float,
         (effective.settings ->> 'max_steps_in_process_seconds')::float,
         (effective.settings ->> 'max_other_seconds')::float,
         (effective.settings ->> 'max_lifetime_seconds')::float,
         effective.settings ->> 'stale_action',
         (effective.settings ->> 'warning_share')::float
    from remand.templates template,
         lateral (select p_settings || coalesce(template.lifecycle, '{}') as settings) effective
   where p_templates is null
      or template.id = any(p_templates)
$$;
