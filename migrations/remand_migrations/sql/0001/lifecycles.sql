-- What holds for templates (null: for all) of how long their workflows may be without a sign of life, in seconds:
-- what a template says itself, else what is set.
create or replace function remand.lifecycles(p_settings jsonb, p_templates int[] default null)
returns table (template_id int, dependencies float, retry float, in_process float, other float, lifetime float,
               action text, share float)
language sql stable as $$
  select t.id, (x.s ->> 'max_waiting_for_dependencies_seconds')::float,
         (x.s ->> 'max_waiting_for_retry_seconds')::float, (x.s ->> 'max_steps_in_process_seconds')::float,
         (x.s ->> 'max_other_seconds')::float, (x.s ->> 'max_lifetime_seconds')::float,
         x.s ->> 'stale_action', (x.s ->> 'warning_share')::float
    from remand.templates t, lateral (select p_settings || coalesce(t.lifecycle, '{}') s) x
   where p_templates is null or t.id = any(p_templates)
$$;
