-- The mover of breakers: compare-and-set on the state, with its row in breaker_moves. A breaker without a row is closed.
-- What it let through before it opened again is held like the rest. What of it runs counts no longer: its end says
-- nothing of the dependency by then, and one that hangs must keep no probe away.
-- Joins the caller's transaction; the row stays locked until its end. Returns whether it moved.
create or replace function remand.move_breaker(
  p_name text, p_from text, p_event text, p_to text, p_openings int, p_probe_at timestamptz,
  p_releasing_since timestamptz, p_release_all boolean, p_by text, p_reason text, p_now timestamptz)
returns boolean
language plpgsql set enable_seqscan = off set jit = off as $$
begin
  insert into remand.breakers (name, state, state_since, openings, probes_succeeded, release_all, by)
    values (p_name, 'closed', p_now, 0, 0, false, p_by) on conflict do nothing;
  update remand.breakers b
     set state = p_to, state_since = p_now, openings = p_openings, probe_at = p_probe_at, probes_succeeded = 0,
         releasing_since = p_releasing_since, release_all = p_release_all, by = p_by, reason = p_reason,
         released_at = case when p_from = 'closed' and p_to = 'closed' then b.released_at end
   where b.name = p_name and b.state = p_from;
  if not found then return false; end if;
  if p_to = 'open' then
    -- Rows that somebody holds are about to be claimed or to end; waiting for them could close a circle.
    update remand.run_queue q set gate = null
      from (select r.workflow_id w, r.step n from remand.run_queue r
             where r.dependency = p_name and r.gate = 'passed' and r.phase in ('ready', 'claimed')
               for update skip locked) x
     where q.workflow_id = x.w and q.step = x.n;
  end if;
  insert into remand.breaker_moves (name, from_state, event, to_state, at, by, reason)
    values (p_name, p_from, p_event, p_to, p_now, p_by, p_reason);
  return true;
end $$;
