-- The mover of workflows off the straight road: compare-and-set on the state, history with it.
-- A workflow that is reopened beyond its deadline gets a new one.
-- Joins the caller's transaction; the caller holds the rows. Returns the workflows that moved.
create or replace function remand.move_workflows(
  p_ids uuid[], p_from text[], p_event text, p_to text, p_by text, p_reason text, p_now timestamptz)
returns setof uuid
language sql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  with before as (
    select workflow.id, workflow.state
      from remand.workflows workflow
     where workflow.id = any(p_ids)
       and workflow.state = any(p_from)
     order by workflow.id
       for update),
  moved as (
    update remand.workflows workflow
       set state = p_to,
           state_since = p_now,
           expires_at = case when p_event = 'reopen' and workflow.expires_at <= p_now
                             then p_now + make_interval(secs => remand.lifetime(workflow.template_id))
                             else workflow.expires_at
                        end
      from before
     where workflow.id = before.id
    returning workflow.id),
  recorded as (
    insert into remand.history (workflow_id, kind, from_state, event, to_state, at, by, reason)
      select before.id, 'workflow', before.state, p_event, p_to, p_now, p_by, p_reason
        from before
       order by before.id)
  select moved.id from moved
$$;
