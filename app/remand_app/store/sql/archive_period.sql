-- Hand the four partitions of a period over to the archive, without touching the rows of what has ended.
-- p_stay: workflows that stay live, as a look just before found them; their rows go to the default
-- partitions.
-- p_audited: entries of the audit log from p_audited_from on about workflows of the period, as that look
-- counted them.
-- p_attach false: nothing but p_stay is left in it, so its empty tables are dropped.
-- Everybody who works waits meanwhile: the caller has set lock_timeout and statement_timeout.
-- outcome: 'moved'; 'gone', somebody else was first; 'changed': somebody acted on one of its workflows since
-- the look.
create or replace function remand.archive_period(
  p_period text, p_from uuid, p_below uuid, p_stay uuid[], p_audited_from uuid, p_audited bigint,
    p_attach boolean)
returns table (outcome text, lock_ms float8, stayed bigint[])
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_tables text[] := array['workflows', 'steps', 'attempts', 'history'];
  v_from text[] := array['workflows_' || p_period, 'steps_' || p_period, 'attempts_' || p_period,
                         'history_' || p_period];
  v_home text[] := array['workflows_default', 'steps_default', 'attempts_default', 'history_default'];
  v_began timestamptz; v_attached bigint; v_others boolean; v_audited bigint;
begin
  perform pg_advisory_xact_lock(hashtext('remand.archive'));
  v_began := clock_timestamp();
  for v_place in 1..4 loop
    execute format('lock table only remand.%I, remand.%I in access exclusive mode',
                   v_tables[v_place], v_home[v_place]);
  end loop;
  select count(*) into v_attached
    from pg_inherits partition
   where partition.inhparent = any(array['remand.workflows', 'remand.steps', 'remand.attempts',
                                         'remand.history']::regclass[])
     and partition.inhrelid = any(array(
       select to_regclass('remand.' || named.name)
         from unnest(v_from) named(name)));
  if v_attached < 4 then
    outcome := 'gone';
    return next;
    return;
  end if;
  execute format($query$
    select exists (
      select
        from remand.%1$I workflow
       where not remand.is_final(workflow.state)
         and workflow.id <> all($3)
      union all
      select
        from remand.dead_letters letter
        join remand.%1$I workflow on workflow.id = letter.workflow_id
       where letter.status in ('pending', 'investigating')
         and letter.workflow_id >= $1
         and letter.workflow_id < $2
         and workflow.id <> all($3)
      union all
      select
        from remand.%1$I workflow
       where not $4
         and workflow.id <> all($3)) $query$, v_from[1])
    into v_others
   using p_from, p_below, p_stay, p_attach;
  select count(*) into v_audited
    from remand.audit_log entry
   where entry.id >= p_audited_from
     and entry.workflow_id >= p_from
     and entry.workflow_id < p_below;
  if v_others or v_audited <> p_audited then
    outcome := 'changed';
    return next;
    return;
  end if;
  for v_place in 1..4 loop
    execute format('alter table remand.%I detach partition remand.%I', v_tables[v_place], v_from[v_place]);
  end loop;
  stayed := remand.move_rows(v_from, v_home, p_stay);
  if not p_attach
     and (select sums.counts from remand.archive_sums(v_from, null, '{}') sums) <> '{0,0,0,0}'
  then
    raise exception 'rows of no workflow are left in period %', p_period using errcode = 'RM001';
  end if;
  for v_place in 1..4 loop
    if p_attach then
      execute format('alter table remand.%I attach partition remand.%I for values from (%L) to (%L)',
                     v_tables[v_place] || '_archive', v_from[v_place], p_from, p_below);
    else
      execute format('drop table remand.%I', v_from[v_place]);
    end if;
  end loop;
  outcome := 'moved';
  lock_ms := 1000 * extract(epoch from clock_timestamp() - v_began);
  return next;
end $$;
