-- What workflows looked like at this instant, for their dead letters, each the text of a JSON object:
-- workflow, steps, the last p_attempts attempts, the last p_moves moves. Text has at most 1 GB: values beyond
-- p_bytes, a wide workflow's beyond its share of it, are left out unread, and p_cut stands in their place.
create or replace function remand.snapshots(
  p_ids uuid[], p_bytes int, p_cut text, p_attempts int, p_moves int)
returns table (workflow_id uuid, snapshot text)
language sql stable set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  select given.id, json_build_object(
    'workflow', (
      select json_build_object(
               'id', workflow.id,
               'template', template.namespace || '/' || template.name || ':' || template.version,
               'template_hash', template.hash,
               'state', workflow.state,
               'state_since', workflow.state_since,
               'created_at', workflow.created_at,
               'submitted_by', workflow.submitted_by,
               'priority', workflow.priority,
               'input', workflow.input)
        from remand.workflows workflow
        join remand.templates template on template.id = workflow.template_id
       where workflow.id = given.id),
    'steps', (
      select coalesce(
               json_agg(
                 json_build_object(
                   'name', step.name,
                   'handler', step.handler,
                   'queue', step.queue,
                   'depends_on', step.depends_on,
                   'state', step.state,
                   'attempt', step.attempt,
                   'failures', step.failures,
                   'lost_attempts', step.lost_attempts,
                   'input', case when pg_column_size(step.input) > step.most then to_jsonb(p_cut)
                                 else step.input end,
                   'checkpoint', case when pg_column_size(step.checkpoint) > step.most then to_jsonb(p_cut)
                                      else step.checkpoint end,
                   'failure', case when step.wide and step.state <> 'error' then step.failure - 'traceback'
                                   else step.failure end,
                   'result', case when pg_column_size(step.result) > step.most then to_jsonb(p_cut)
                                  else step.result end,
                   'started_at', step.started_at,
                   'ended_at', step.ended_at)
                 order by step.position),
               '[]')
        from (select row.*,
                     count(*) over () > 16 as wide,
                     case when count(*) over () > 16 then p_bytes / count(*) over () else p_bytes end as most
                from remand.steps row
               where row.workflow_id = given.id) step),
    'attempts', (
      select coalesce(
               json_agg(
                 json_build_object(
                   'step', attempt.step,
                   'attempt', attempt.attempt,
                   'outcome', attempt.outcome,
                   'worker', worker.hostname,
                   'started_at', attempt.started_at,
                   'ended_at', attempt.ended_at,
                   'failure', attempt.failure,
                   'policy', attempt.policy,
                   'decision', attempt.decision,
                   'explanation', attempt.explanation)
                 order by attempt.ended_at, attempt.step),
               '[]')
        from (select latest.*
                from remand.attempts latest
               where latest.workflow_id = given.id
               order by latest.ended_at desc, latest.step desc
               limit p_attempts) attempt
        left join remand.workers worker on worker.id = attempt.worker),
    'moves', (
      select coalesce(
               json_agg(
                 json_build_object(
                   'step', move.step,
                   'from', move.from_state,
                   'event', move.event,
                   'to', move.to_state,
                   'at', move.at,
                   'by', move.by,
                   'reason', move.reason)
                 order by move.at, move.seq),
               '[]')
        from (select latest.*
                from remand.moves latest
               where latest.workflow_id = given.id
               order by latest.at desc, latest.seq desc
               limit p_moves) move),
    'left_out', json_build_array())::text
    from unnest(p_ids) given(id)
$$;
