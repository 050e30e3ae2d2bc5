-- The age in seconds at which workflows of a template expire: the least of its own and of what is set for the queues
-- of its first steps; null: never.
create or replace function remand.lifetime(p_template int) returns float
language sql stable set search_path = pg_catalog, pg_temp as $$
  select least(t.expire_after_seconds,
               (select min(q.expire_after_seconds) from remand.template_steps y
                  join remand.queue_settings q on q.queue = y.queue
                 where y.template_id = t.id and y.depends_on = '{}'))
    from remand.templates t where t.id = p_template
$$;
