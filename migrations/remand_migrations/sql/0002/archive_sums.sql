-- Count the rows of four tables and add up hashes over their ids and states: the same before a move and after it.
-- p_tables: of schema remand, for workflows, steps, attempts, history. p_only: of these workflows alone; null: of all but p_but.
create or replace function remand.archive_sums(p_tables text[], p_only uuid[], p_but uuid[])
returns table (counts bigint[], checksum numeric)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  v_keys text[] := array['id', 'workflow_id', 'workflow_id', 'workflow_id'];
  v_words text[] := array['id, state', 'workflow_id, name, state', 'workflow_id, step, attempt, outcome',
                          'workflow_id, seq, to_state'];
  v_count bigint; v_sum numeric;
begin
  counts := '{}';
  checksum := 0;
  for i in 1..4 loop
    execute format('select count(*), coalesce(sum(hashtextextended(concat_ws(''/'', %s), %s)), 0) from remand.%I where %I %s',
                   v_words[i], i, p_tables[i], v_keys[i], case when p_only is null then '<> all($2)' else '= any($1)' end)
      into v_count, v_sum using p_only, p_but;
    counts := counts || v_count;
    checksum := checksum + v_sum;
  end loop;
  return next;
end $$;
