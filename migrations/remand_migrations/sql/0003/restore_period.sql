-- Hand the four partitions of a period back to the live tables, with what stayed live of it from the default
-- partitions.
-- Everybody who works waits meanwhile: the caller has set lock_timeout and statement_timeout.
-- outcome: 'moved'; 'gone': it is not in the archive; 'crowded': more than p_limit workflows of it are in the
-- default partition.
create or replace function remand.restore_period(p_period text, p_from uuid, p_below uuid, p_limit int)
returns table (outcome text, lock_ms float8, stayed bigint[])
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_tables text[] := array['workflows', 'steps', 'attempts', 'history'];
  v_from text[] := array['workflows_' || p_period, 'steps_' || p_period, 'attempts_' || p_period,
                         'history_' || p_period];
  v_home text[] := array['workflows_default', 'steps_default', 'attempts_default', 'history_default'];
  v_began timestamptz; v_attached bigint; v_ids uuid[];
begin
  perform pg_advisory_xact_lock(hashtext('remand.archive'));
  v_began := clock_timestamp();
  for v_place in 1..4 loop
    execute format('lock table only remand.%I, remand.%I in access exclusive mode',
                   v_tables[v_place], v_home[v_place]);
  end loop;
  select count(*)
    into v_attached
    from pg_inherits partition
   where partition.inhparent = any(array['remand.workflows_archive', 'remand.steps_archive',
                                         'remand.attempts_archive', 'remand.history_archive']::regclass[])
     and partition.inhrelid = any(array(
       select to_regclass('remand.' || named.name)
         from unnest(v_from) named(name)));
  if v_attached < 4 then
    outcome := 'gone';
    return next;
    return;
  end if;
  v_ids := array(
    select workflow.id
      from remand.workflows_default workflow
     where workflow.id >= p_from
       and workflow.id < p_below
     limit p_limit + 1);
  if cardinality(v_ids) > p_limit then
    outcome := 'crowded';
    return next;
    return;
  end if;
  for v_place in 1..4 loop
    execute format('alter table remand.%I detach partition remand.%I',
                   v_tables[v_place] || '_archive', v_from[v_place]);
  end loop;
  stayed := remand.move_rows(v_home, v_from, v_ids);
  for v_place in 1..4 loop
    execute format('alter table remand.%I attach partition remand.%I for values from (%L) to (%L)',
                   v_tables[v_place], v_from[v_place], p_from, p_below);
  end loop;
  outcome := 'moved';
  lock_ms := 1000 * extract(epoch from clock_timestamp() - v_began);
  return next;
end $$;
