-- Lock up to p_k failed attempts of a retry queue together with their workflows, for the caller to decide on
-- in the same transaction. Rows that somebody else holds are skipped, never waited for; a paused queue has
-- none.
-- passed: a breaker had let the attempt through.
create or replace function remand.take_failures(p_queue text, p_k int)
returns table (workflow_id uuid, step text, attempt int, outcome text, failures int, lost_attempts int,
               failure jsonb, template_id int, handler text, queue text, worker uuid, policy text,
               failing_since timestamptz, passed boolean)
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if exists (select from remand.pauses pause where pause.queue = p_queue) then return; end if;
  return query
  with due as (
    select queued.workflow_id, queued.step, queued.attempt, queued.gate is not null as passed
      from remand.run_queue queued
     where queued.queue = p_queue
       and queued.phase = 'failed'
     order by queued.due_at, queued.workflow_id, queued.step
     limit p_k
       for update skip locked),
  workflow as (
    select workflow.id, workflow.template_id
      from remand.workflows workflow
     where workflow.id in (select due.workflow_id from due)
     order by workflow.id
       for update skip locked)
  select due.workflow_id, due.step, due.attempt, attempt.outcome, step.failures, step.lost_attempts,
         step.failure, workflow.template_id, step.handler, step.queue, attempt.worker, attempt.policy,
         step.failing_since, due.passed
    from due
    join workflow on workflow.id = due.workflow_id
    join remand.steps step on step.workflow_id = due.workflow_id and step.name = due.step
    join remand.attempts attempt
      on attempt.workflow_id = due.workflow_id
     and attempt.step = due.step
     and attempt.attempt = due.attempt
   order by due.workflow_id, due.step;
end $$;
