-- Every move of every workflow and step: those in history, and those that a row keeps as its instants.
create or replace view remand.moves as
  select h.workflow_id, h.seq, h.kind, h.step, h.from_state, h.event, h.to_state, h.at, h.by, h.reason
    from remand.history h
  union all
  select f.id, v.seq, 'workflow', null, v.from_state, v.event, v.to_state, f.created_at, f.submitted_by, null
    from remand.workflows f, (values (-3, 'pending', 'start', 'initializing'),
      (-2, 'initializing', 'ready_steps_found', 'enqueuing_steps'),
      (-1, 'enqueuing_steps', 'steps_enqueued', 'steps_in_process')) v(seq, from_state, event, to_state)
  union all
  select f.id, v.seq, 'workflow', null, v.from_state, v.event, v.to_state, f.state_since, 'settle', null
    from remand.workflows f, (values (9223372036854775806, 'steps_in_process', 'step_settled', 'evaluating_results'),
      (9223372036854775807, 'evaluating_results', 'all_steps_done', 'complete')) v(seq, from_state, event, to_state)
   where f.state = 'complete'
     and coalesce((select h.to_state from remand.history h where h.workflow_id = f.id and h.kind = 'workflow'
                    order by h.seq desc limit 1), 'steps_in_process') = 'steps_in_process'
  union all
  select s.workflow_id, 9223372036854775804, 'step', s.name, 'pending', 'enqueue', 'enqueued', s.enqueued_at, 'remand', null
    from remand.steps s where s.enqueued_at is not null
  union all
  select s.workflow_id, 9223372036854775805, 'step', s.name, 'enqueued', 'start', 'in_progress', s.started_at, 'claim', null
    from remand.steps s where s.started_at is not null
  union all
  select s.workflow_id, 9223372036854775806, 'step', s.name,
         case when s.started_at is null then 'enqueued_for_orchestration' else 'in_progress' end,
         'complete', 'complete', s.ended_at, 'settle', null
    from remand.steps s
   where s.state = 'complete'
     and (s.started_at is not null
          or (select h.to_state from remand.history h where h.workflow_id = s.workflow_id and h.step = s.name
               order by h.seq desc limit 1) = 'enqueued_for_orchestration');
