-- The age in seconds at which workflows of a template expire: the least of its own and of what is set for the
-- queues of its first steps; null: never.
create or replace function remand.lifetime(p_template int) returns float
language sql stable set search_path = pg_catalog, pg_temp as $$
  select least(template.expire_after_seconds,
               (select min(setting.expire_after_seconds)
                  from remand.template_steps step
                  join remand.queue_settings setting on setting.queue = step.queue
                 where step.template_id = template.id
                   and step.depends_on = '{}'))
    from remand.templates template
   where template.id = p_template
$$;
