-- Create the monthly partitions that hold p_now and the p_ahead months after it; returns the new ones.
-- Rows that fell into a default partition meanwhile are moved into the partition they belong to.
create or replace function remand.ensure_partitions(p_now timestamptz, p_ahead int) returns setof text
language plpgsql as $$
declare
  v_table text; v_key text; v_name text; v_from uuid; v_to uuid; v_month timestamp;
begin
  perform pg_advisory_xact_lock(hashtext('remand.ensure_partitions'));
  -- To attach one, the default partition must be free; everybody else waits as long as we do.
  perform set_config('lock_timeout', '500ms', true);
  for i in 0..p_ahead loop
    v_month := date_trunc('month', p_now at time zone 'UTC') + make_interval(months => i);
    v_from := remand.uuid7_floor(v_month at time zone 'UTC');
    v_to := remand.uuid7_floor((v_month + interval '1 month') at time zone 'UTC');
    foreach v_table in array array['workflows', 'steps', 'attempts', 'history'] loop
      v_key := case v_table when 'workflows' then 'id' else 'workflow_id' end;
      v_name := v_table || '_' || to_char(v_month, 'YYYY_MM');
      continue when to_regclass('remand.' || v_name) is not null;
      execute format('create table remand.%I (like remand.%I including all) with (fillfactor = %s)',
                     v_name, v_table, case v_table when 'steps' then 60 when 'workflows' then 70 else 100 end);
      execute format('with moved as (delete from remand.%I where %I >= %L and %I < %L returning *) '
                     'insert into remand.%I select * from moved',
                     v_table || '_default', v_key, v_from, v_key, v_to, v_name);
      execute format('alter table remand.%I attach partition remand.%I for values from (%L) to (%L)',
                     v_table, v_name, v_from, v_to);
      return next v_name;
    end loop;
  end loop;
end $$;
