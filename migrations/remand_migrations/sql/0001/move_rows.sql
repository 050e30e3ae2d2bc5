-- Move every row of some workflows from four tables to four others with the same columns; returns how many of each.
-- Joins the caller's transaction; the caller holds the workflows' rows or their tables.
create or replace function remand.move_rows(p_from text[], p_to text[], p_ids uuid[]) returns bigint[]
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  v_keys text[] := array['id', 'workflow_id', 'workflow_id', 'workflow_id'];
  v_moved bigint[] := '{}'; v_count bigint;
begin
  for i in 1..4 loop
    execute format('with gone as (delete from remand.%I where %I = any($1) returning *) insert into remand.%I select * from gone',
                   p_from[i], v_keys[i], p_to[i]) using p_ids;
    get diagnostics v_count = row_count;
    v_moved := v_moved || v_count;
  end loop;
  return v_moved;
end $$;
