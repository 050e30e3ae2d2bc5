-- Every attempt: those that did not go well, and the one that a step's row keeps.
create or replace view remand.all_attempts as
  select a.workflow_id, a.step, a.attempt, a.outcome, a.worker, a.started_at, a.ended_at, a.failure, a.policy,
         a.decision, a.decided_at, a.due_at, a.explanation
    from remand.attempts a
  union all
  select s.workflow_id, s.name, s.attempt, case when s.state = 'in_progress' then 'running' else 'complete' end,
         s.worker, s.started_at, s.ended_at, null, null, null, null, null, null
    from remand.steps s
   where s.worker is not null and s.attempt > 0
     and ((s.started_at is not null and s.state in ('in_progress', 'complete'))
          or (s.state = 'enqueued_for_orchestration')
          or (s.state = 'complete' and not exists (select from remand.attempts a
               where a.workflow_id = s.workflow_id and a.step = s.name and a.attempt = s.attempt)));
