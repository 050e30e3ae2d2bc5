-- The mover of workflows off the straight road: compare-and-set on the state, history with it.
-- A workflow that is reopened beyond its deadline gets a new one.
-- Joins the caller's transaction; the caller holds the rows. Returns the workflows that moved.
create or replace function remand.move_workflows(
  p_ids uuid[], p_from text[], p_event text, p_to text, p_by text, p_reason text, p_now timestamptz)
returns setof uuid
language sql set enable_seqscan = off set jit = off as $$
  with before as (
    select f.id, f.state from remand.workflows f
     where f.id = any(p_ids) and f.state = any(p_from) order by f.id for update),
  moved as (
    update remand.workflows f
       set state = p_to, state_since = p_now,
           expires_at = case when p_event = 'reopen' and f.expires_at <= p_now
                             then p_now + make_interval(secs => remand.lifetime(f.template_id))
                             else f.expires_at end
      from before b where f.id = b.id returning f.id),
  written as (
    insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by, reason)
      select b.id, 'workflow', b.state, p_event, p_to, p_now, p_by, p_reason from before b order by b.id)
  select m.id from moved m
$$;
