-- The view all_attempts, of archived workflows.
create or replace view remand.archived_attempts as
  select attempt.workflow_id, attempt.step, attempt.attempt, attempt.outcome, attempt.worker,
         attempt.started_at, attempt.ended_at, attempt.failure, attempt.policy, attempt.decision,
         attempt.decided_at, attempt.due_at, attempt.explanation
    from remand.attempts_archive attempt
  union all
  select step.workflow_id, step.name, step.attempt,
         case when step.state = 'in_progress' then 'running' else 'complete' end,
         step.worker, step.started_at, step.ended_at, null, null, null, null, null, null
    from remand.steps_archive step
   where step.worker is not null
     and step.attempt > 0
     and (
       (step.started_at is not null and step.state in ('in_progress', 'complete'))
       or step.state = 'enqueued_for_orchestration'
       or (step.state = 'complete'
           and not exists (select
                             from remand.attempts_archive attempt
                            where attempt.workflow_id = step.workflow_id
                              and attempt.step = step.name
                              and attempt.attempt = step.attempt)));
