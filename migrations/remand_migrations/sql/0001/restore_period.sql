-- Hand the four partitions of a period back to the live tables, with what stayed live of it from the default partitions.
-- Everybody who works waits meanwhile: the caller has set lock_timeout and statement_timeout.
-- outcome: 'moved'; 'gone': it is not in the archive; 'crowded': more than p_limit workflows of it are in the default partition.
create or replace function remand.restore_period(p_period text, p_from uuid, p_below uuid, p_limit int)
returns table (outcome text, lock_ms float8, stayed bigint[])
language plpgsql set enable_seqscan = off set jit = off as $$
declare
  v_tables text[] := array['workflows', 'steps', 'attempts', 'history'];
  v_from text[] := array['workflows_' || p_period, 'steps_' || p_period, 'attempts_' || p_period, 'history_' || p_period];
  v_home text[] := array['workflows_default', 'steps_default', 'attempts_default', 'history_default'];
  v_began timestamptz; v_ids uuid[];
begin
  perform pg_advisory_xact_lock(hashtext('remand.archive'));
  v_began := clock_timestamp();
  for i in 1..4 loop
    execute format('lock table only remand.%I, remand.%I in access exclusive mode', v_tables[i], v_home[i]);
  end loop;
  if 4 > (select count(*) from pg_inherits i where i.inhparent = any(array['remand.workflows_archive', 'remand.steps_archive',
            'remand.attempts_archive', 'remand.history_archive']::regclass[])
            and i.inhrelid = any(array(select to_regclass('remand.' || r) from unnest(v_from) r))) then
    outcome := 'gone';
    return next;
    return;
  end if;
  v_ids := array(select f.id from remand.workflows_default f where f.id >= p_from and f.id < p_below limit p_limit + 1);
  if cardinality(v_ids) > p_limit then
    outcome := 'crowded';
    return next;
    return;
  end if;
  for i in 1..4 loop
    execute format('alter table remand.%I detach partition remand.%I', v_tables[i] || '_archive', v_from[i]);
  end loop;
  stayed := remand.move_rows(v_home, v_from, v_ids);
  for i in 1..4 loop
    execute format('alter table remand.%I attach partition remand.%I for values from (%L) to (%L)',
                   v_tables[i], v_from[i], p_from, p_below);
  end loop;
  outcome := 'moved';
  lock_ms := 1000 * extract(epoch from clock_timestamp() - v_began);
  return next;
end $$;
