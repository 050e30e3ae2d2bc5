-- Create the tables of a period that do not exist yet, attached to nothing; returns which of the four they
-- are of.
-- Locks nothing that live work wants. A table that exists already is left alone, whatever it is.
create or replace function remand.draft_period(p_name text) returns setof text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_table text; v_fillfactor int;
begin
  foreach v_table in array array['workflows', 'steps', 'attempts', 'history'] loop
    continue when to_regclass(format('remand.%I', v_table || '_' || p_name)) is not null;
    -- Room for what is updated: rows stay on their page.
    v_fillfactor := case v_table when 'steps' then 60 when 'workflows' then 70 else 100 end;
    execute format('create table remand.%I (like remand.%I including all) with (fillfactor = %s)',
                   v_table || '_' || p_name, v_table, v_fillfactor);
    return next v_table;
  end loop;
end $$;
