-- Copy workflows from the archive back to the live tables and delete them there; they count as restored at
-- p_now.
-- Counts and checksum are compared before and after, and no id may be live already: else RM001, and nothing
-- has happened.
-- Ids that are not archived are passed over. Joins the caller's transaction.
create or replace function remand.restore_workflows(p_ids uuid[], p_now timestamptz)
returns table (moved uuid[], counts bigint[], checksum numeric)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
declare
  v_from text[] := array['workflows_archive', 'steps_archive', 'attempts_archive', 'history_archive'];
  v_to text[] := array['workflows', 'steps', 'attempts', 'history'];
  v_before record; v_after record;
begin
  perform pg_advisory_xact_lock(hashtext('remand.archive'));
  select array_agg(archived.id)
    into moved
    from (select workflow.id
            from remand.workflows_archive workflow
           where workflow.id = any(p_ids)
           order by workflow.id
             for update) archived;
  if moved is null then return; end if;
  if exists (select
               from remand.workflows workflow
              where workflow.id = any(moved)) then
    raise exception 'one of them is live as well' using errcode = 'RM001';
  end if;
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
  update remand.workflows workflow
     set restored_at = p_now
   where workflow.id = any(moved);
  checksum := v_after.checksum;
  return next;
end $$;
