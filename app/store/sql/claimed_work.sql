-- Read what this worker has claimed: the steps, what they are to work on, and until when they are its own.
-- parents: their results by name; '"stored"' if they have more than p_inline_bytes together (as stored) and
-- are to be read one by one: a value has at most 256 MB. null: it has none.
-- Null arrays hold nothing: it is strict, and not called then.
create or replace function remand.claimed_work(
  p_worker uuid, p_workflows uuid[], p_steps text[], p_timeout float, p_inline_bytes int)
returns table (workflow_id uuid, step text, attempt int, handler text, timeout_seconds float,
               commit_each boolean, input jsonb, parents jsonb, checkpoint jsonb, lease_until timestamptz,
               template_id int, waited_seconds float)
language plpgsql strict set enable_seqscan = off set jit = off set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan set search_path = pg_catalog, pg_temp as $$
begin
  return query
  select work.workflow_id, work.name, work.attempt, work.handler,
         coalesce(work.timeout_seconds, p_timeout),
         work.commit_each,
         coalesce(work.input, flow.input),
         (select case when max(parent.bytes) > p_inline_bytes then '"stored"'
                      else jsonb_object_agg(parent.name, parent.result)
                             filter (where parent.bytes <= p_inline_bytes) end
            from (select stored.name, stored.result,
                         sum(coalesce(pg_column_size(stored.result), 0)) over () as bytes
                    from unnest(work.depends_on) named(name),
                         -- "offset 0": each by its whole key; a join would read all steps of the workflow.
                         lateral (select steps.name, steps.result
                                    from remand.steps
                                   where steps.workflow_id = work.workflow_id
                                     and steps.name = named.name
                                  offset 0) stored) parent),
         work.checkpoint, queued.lease_until, flow.template_id,
         extract(epoch from work.started_at - queued.due_at)::float
    from unnest(p_workflows, p_steps) with ordinality claimed(workflow_id, name, rank)
    join remand.run_queue queued
      on queued.workflow_id = claimed.workflow_id
     and queued.step = claimed.name
     and queued.worker = p_worker
    join remand.steps work
      on work.workflow_id = claimed.workflow_id
     and work.name = claimed.name
    join remand.workflows flow on flow.id = claimed.workflow_id
   order by claimed.rank;
end $$;
