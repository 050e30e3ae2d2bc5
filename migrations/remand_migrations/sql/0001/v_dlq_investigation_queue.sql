-- Open dead letters, the most urgent first, with who has them: a stable interface for people's own SQL. The order is that
-- of `remand dlq triage`; with a limit only so many rows are read.
create or replace view remand.v_dlq_investigation_queue as
  select d.id dead_letter_id, d.workflow_id, d.namespace, d.template, d.version, d.step, d.handler, d.queue, d.dead_queue,
         d.reason, d.category, d.error_class, d.error_message, d.attempts, d.status, d.claimed_by owner, d.claimed_at,
         d.opened_at, extract(epoch from statement_timestamp() - d.opened_at)::float8 age_seconds,
         d.triage_at, (extract(epoch from statement_timestamp() - d.triage_at) / 60)::float8 priority,
         d.labels, d.requeues, d.requeue_at,
         d.group_id, g.state group_state, g.owner group_owner, g.due_at group_due_at
    from remand.dead_letters d join remand.dead_letter_groups g on g.id = d.group_id
   where d.status in ('pending', 'investigating')
   order by d.triage_at, d.id;
comment on view remand.v_dlq_investigation_queue is 'Open dead letters, the most urgent first, a row each.';
comment on column remand.v_dlq_investigation_queue.dead_letter_id is 'its id, as `remand dlq show` takes it';
comment on column remand.v_dlq_investigation_queue.workflow_id is 'the workflow that waits';
comment on column remand.v_dlq_investigation_queue.namespace is 'of the template';
comment on column remand.v_dlq_investigation_queue.template is 'name of the template';
comment on column remand.v_dlq_investigation_queue.version is 'version of the template';
comment on column remand.v_dlq_investigation_queue.step is 'step whose failure opened it';
comment on column remand.v_dlq_investigation_queue.handler is 'its handler';
comment on column remand.v_dlq_investigation_queue.queue is 'its queue';
comment on column remand.v_dlq_investigation_queue.dead_queue is 'where the letter lies';
comment on column remand.v_dlq_investigation_queue.reason is 'why it was opened';
comment on column remand.v_dlq_investigation_queue.category is 'classification of the last failure';
comment on column remand.v_dlq_investigation_queue.error_class is 'qualified class of the last failure';
comment on column remand.v_dlq_investigation_queue.error_message is 'its message, secrets masked';
comment on column remand.v_dlq_investigation_queue.attempts is 'attempts made';
comment on column remand.v_dlq_investigation_queue.status is 'pending or investigating';
comment on column remand.v_dlq_investigation_queue.owner is 'who looks at it; null: nobody';
comment on column remand.v_dlq_investigation_queue.claimed_at is 'since when; null: nobody does';
comment on column remand.v_dlq_investigation_queue.opened_at is 'when the failure became terminal';
comment on column remand.v_dlq_investigation_queue.age_seconds is 'seconds since then';
comment on column remand.v_dlq_investigation_queue.triage_at is 'opened_at less the weight of its reason: what the rows are ordered by';
comment on column remand.v_dlq_investigation_queue.priority is 'minutes of its age and of the weight of its reason: the greatest is first';
comment on column remand.v_dlq_investigation_queue.labels is 'words of people';
comment on column remand.v_dlq_investigation_queue.requeues is 'automatic requeues of the step so far';
comment on column remand.v_dlq_investigation_queue.requeue_at is 'when it goes back by itself; null: it does not';
comment on column remand.v_dlq_investigation_queue.group_id is 'letters with the same cause';
comment on column remand.v_dlq_investigation_queue.group_state is 'how the investigation of the cause stands';
comment on column remand.v_dlq_investigation_queue.group_owner is 'who looks at the cause; null: nobody';
comment on column remand.v_dlq_investigation_queue.group_due_at is 'until when it should be dealt with; null: no day is set';
