-- Enqueue pending steps: pending -> enqueued, with their place in the run queue. The caller holds the
-- workflows' rows and has decided that they may run. Returns the queues that got work.
create or replace function remand.enqueue_steps(p_workflows uuid[], p_steps text[], p_now timestamptz)
returns setof text
language plpgsql set enable_seqscan = off set jit = off set search_path = pg_catalog, pg_temp as $$
begin
  return query
  with enqueued as (
    update remand.steps step
       set state = 'enqueued', enqueued_at = p_now
      from unnest(p_workflows, p_steps) given(workflow_id, name)
     where step.workflow_id = given.workflow_id
       and step.name = given.name
       and step.state = 'pending'
    returning step.workflow_id, step.name, step.queue, step.priority, step.attempt,
              coalesce(step.dependency, step.handler) as dependency),
  queued as (
    insert into remand.run_queue
        (workflow_id, step, phase, queue, namespace, dependency, priority, due_at, attempt)
      select enqueued.workflow_id, enqueued.name, 'ready', enqueued.queue, template.namespace,
             enqueued.dependency, enqueued.priority, p_now, enqueued.attempt
        from enqueued
        join remand.workflows workflow on workflow.id = enqueued.workflow_id
        join remand.templates template on template.id = workflow.template_id)
  select distinct enqueued.queue from enqueued;
end $$;
