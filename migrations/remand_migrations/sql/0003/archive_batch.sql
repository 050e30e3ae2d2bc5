-- Copy finished workflows of one partition into the archive and delete them, at most p_limit, in order of
-- their ids.
-- p_partition: suffix of the four live tables, such as 'default'. p_after, p_below: between these ids.
-- Who is locked is left for the next time. A workflow that a person takes up again is live when its row is
-- got, and stays.
-- Counts and checksum are compared before and after; a difference raises RM001, and nothing has happened.
-- No row is returned when there was nothing left to move.
create or replace function remand.archive_batch(
  p_partition text, p_after uuid, p_below uuid, p_cutoff timestamptz, p_kept text[], p_limit int)
returns table (moved uuid[], counts bigint[], checksum numeric)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_from text[] := array['workflows_' || p_partition, 'steps_' || p_partition, 'attempts_' || p_partition,
                         'history_' || p_partition];
  v_to text[] := array['workflows_archive', 'steps_archive', 'attempts_archive', 'history_archive'];
  v_before record; v_after record;
begin
  -- A submit that repeats an old id looks into the archive behind this lock.
  perform pg_advisory_xact_lock(hashtext('remand.archive'));
  execute format($query$
    select array_agg(due.id)
      from (select workflow.id
              from remand.%I workflow
             where workflow.id > $1
               and workflow.id < least($2, remand.uuid7_floor($3))
               and remand.archive_verdict(workflow.state, workflow.template_id, workflow.state_since,
                                          workflow.restored_at, $3, $4) is null
               and not exists (select
                                 from remand.dead_letters letter
                                where letter.workflow_id = workflow.id
                                  and letter.status in ('pending', 'investigating'))
             order by workflow.id
             limit $5
               for update skip locked) due $query$, v_from[1])
    into moved
   using p_after, p_below, p_cutoff, p_kept, p_limit;
  -- Seen anew, now that they are locked: whoever opened a letter before us has committed.
  moved := array(
    select locked.id
      from unnest(moved) locked(id)
     where not exists (select
                         from remand.dead_letters letter
                        where letter.workflow_id = locked.id
                          and letter.status in ('pending', 'investigating'))
     order by locked.id);
  if moved = '{}' then return; end if;
  select * into v_before from remand.archive_sums(v_from, moved, null);
  counts := remand.move_rows(v_from, v_to, moved);
  select * into v_after from remand.archive_sums(v_to, moved, null);
  if counts <> v_before.counts
     or v_after.counts <> v_before.counts
     or v_after.checksum <> v_before.checksum
  then
    raise exception 'rows before % with sum %, moved %, after % with sum %',
      v_before.counts, v_before.checksum, counts, v_after.counts, v_after.checksum
      using errcode = 'RM001';
  end if;
  checksum := v_after.checksum;
  return next;
end $$;
