-- What workflows looked like at this instant, for their dead letters, each the text of a JSON object: workflow, steps,
-- the last p_attempts attempts, the last p_moves moves. Text has at most 1 GB: values beyond p_bytes, a wide workflow's
-- beyond its share of it, are left out unread, and p_cut stands in their place.
create or replace function remand.snapshots(p_ids uuid[], p_bytes int, p_cut text, p_attempts int, p_moves int)
returns table (workflow_id uuid, snapshot text)
language sql stable set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
  select k.id, json_build_object(
    'workflow', (
      select json_build_object('id', f.id, 'template', t.namespace || '/' || t.name || ':' || t.version,
               'template_hash', t.hash, 'state', f.state, 'state_since', f.state_since,
               'created_at', f.created_at, 'submitted_by', f.submitted_by, 'priority', f.priority,
               'input', f.input)
        from remand.workflows f join remand.templates t on t.id = f.template_id where f.id = k.id),
    'steps', (
      select coalesce(json_agg(json_build_object('name', s.name, 'handler', s.handler, 'queue', s.queue,
               'depends_on', s.depends_on, 'state', s.state, 'attempt', s.attempt, 'failures', s.failures,
               'lost_attempts', s.lost_attempts,
               'input', case when pg_column_size(s.input) > s.most then to_jsonb(p_cut) else s.input end,
               'checkpoint', case when pg_column_size(s.checkpoint) > s.most then to_jsonb(p_cut)
                                  else s.checkpoint end,
               'failure', case when s.wide and s.state <> 'error' then s.failure - 'traceback'
                               else s.failure end,
               'result', case when pg_column_size(s.result) > s.most then to_jsonb(p_cut) else s.result end,
               'started_at', s.started_at, 'ended_at', s.ended_at) order by s.position), '[]')
        from (select x.*, count(*) over () > 16 wide,
                     case when count(*) over () > 16 then p_bytes / count(*) over () else p_bytes end most
                from remand.steps x where x.workflow_id = k.id) s),
    'attempts', (
      select coalesce(json_agg(json_build_object('step', a.step, 'attempt', a.attempt, 'outcome', a.outcome,
               'worker', w.hostname, 'started_at', a.started_at, 'ended_at', a.ended_at, 'failure', a.failure,
               'policy', a.policy, 'decision', a.decision, 'explanation', a.explanation)
               order by a.ended_at, a.step), '[]')
        from (select x.* from remand.attempts x where x.workflow_id = k.id
               order by x.ended_at desc, x.step desc limit p_attempts) a
        left join remand.workers w on w.id = a.worker),
    'moves', (
      select coalesce(json_agg(json_build_object('step', m.step, 'from', m.from_state, 'event', m.event,
               'to', m.to_state, 'at', m.at, 'by', m.by, 'reason', m.reason) order by m.at, m.seq), '[]')
        from (select x.* from remand.moves x where x.workflow_id = k.id
               order by x.at desc, x.seq desc limit p_moves) m),
    'left_out', json_build_array())::text
    from unnest(p_ids) k(id)
$$;
