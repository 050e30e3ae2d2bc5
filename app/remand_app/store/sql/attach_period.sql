-- Attach drafted tables of a period, from p_from until before p_to; returns how many rows moved.
-- Rows that fell into a default partition meanwhile are moved home first. To attach a table, its default
-- partition must be free and is searched for rows of the period: the caller limits wait and hold.
create or replace function remand.attach_period(
  p_name text, p_from timestamptz, p_to timestamptz, p_tables text[])
returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_from uuid := remand.uuid7_floor(p_from);
  v_to uuid := remand.uuid7_floor(p_to);
  v_table text; v_key text; v_moved bigint; v_sum bigint := 0;
begin
  foreach v_table in array p_tables loop
    v_key := case v_table when 'workflows' then 'id' else 'workflow_id' end;
    execute format($query$
      with moved as (
        delete from remand.%1$I
         where %2$I >= %3$L
           and %2$I < %4$L
        returning *)
      insert into remand.%5$I
      select * from moved $query$, v_table || '_default', v_key, v_from, v_to, v_table || '_' || p_name);
    get diagnostics v_moved = row_count;
    v_sum := v_sum + v_moved;
    execute format('alter table remand.%I attach partition remand.%I for values from (%L) to (%L)',
                   v_table, v_table || '_' || p_name, v_from, v_to);
  end loop;
  return v_sum;
end $$;
