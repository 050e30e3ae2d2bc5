-- The view moves, of archived workflows.
-- seq orders moves of one instant: history counts from 1, a submit is before it, what rows keep is behind it.
create or replace view remand.archived_moves as
  select move.workflow_id, move.seq, move.kind, move.step, move.from_state, move.event, move.to_state,
         move.at, move.by, move.reason
    from remand.history_archive move
  union all
  select workflow.id, submitted.seq, 'workflow', null,
         submitted.from_state, submitted.event, submitted.to_state, workflow.created_at,
         workflow.submitted_by, null
    from remand.workflows_archive workflow,
         (values (-3, 'pending', 'start', 'initializing'),
                 (-2, 'initializing', 'ready_steps_found', 'enqueuing_steps'),
                 (-1, 'enqueuing_steps', 'steps_enqueued', 'steps_in_process'))
           submitted(seq, from_state, event, to_state)
  union all
  select workflow.id, completed.seq, 'workflow', null,
         completed.from_state, completed.event, completed.to_state, workflow.state_since, 'settle', null
    from remand.workflows_archive workflow,
         (values (9223372036854775806, 'steps_in_process', 'step_settled', 'evaluating_results'),
                 (9223372036854775807, 'evaluating_results', 'all_steps_done', 'complete'))
           completed(seq, from_state, event, to_state)
   where workflow.state = 'complete'
     and coalesce((select move.to_state
                     from remand.history_archive move
                    where move.workflow_id = workflow.id
                      and move.kind = 'workflow'
                    order by move.seq desc
                    limit 1), 'steps_in_process') = 'steps_in_process'
  union all
  select step.workflow_id, 9223372036854775804, 'step', step.name, 'pending', 'enqueue', 'enqueued',
         step.enqueued_at, 'remand', null
    from remand.steps_archive step
   where step.enqueued_at is not null
  union all
  select step.workflow_id, 9223372036854775805, 'step', step.name, 'enqueued', 'start', 'in_progress',
         step.started_at, 'claim', null
    from remand.steps_archive step
   where step.started_at is not null
  union all
  select step.workflow_id, 9223372036854775806, 'step', step.name,
         case when step.started_at is null then 'enqueued_for_orchestration' else 'in_progress' end,
         'complete', 'complete', step.ended_at, 'settle', null
    from remand.steps_archive step
   where step.state = 'complete'
     and (step.started_at is not null
          or (select move.to_state
                from remand.history_archive move
               where move.workflow_id = step.workflow_id
                 and move.step = step.name
               order by move.seq desc
               limit 1) = 'enqueued_for_orchestration');
