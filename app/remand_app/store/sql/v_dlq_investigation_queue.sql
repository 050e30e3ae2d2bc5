-- Open dead letters, the most urgent first, with who has them: a stable interface for people's own SQL. The
-- order is that of `remand dlq triage`; with a limit only so many rows are read.
create or replace view remand.v_dlq_investigation_queue as
  select letter.id as dead_letter_id, letter.workflow_id, letter.namespace, letter.template, letter.version,
         letter.step, letter.handler, letter.queue, letter.dead_queue, letter.reason, letter.category,
         letter.error_class, letter.error_message, letter.attempts, letter.status, letter.claimed_by as owner,
         letter.claimed_at, letter.opened_at,
         extract(epoch from statement_timestamp() - letter.opened_at)::float8 as age_seconds,
         letter.triage_at,
         (extract(epoch from statement_timestamp() - letter.triage_at) / 60)::float8 as priority,
         letter.labels, letter.requeues, letter.requeue_at, letter.group_id,
         letter_group.state as group_state, letter_group.owner as group_owner,
         letter_group.due_at as group_due_at
    from remand.dead_letters letter
    join remand.dead_letter_groups letter_group on letter_group.id = letter.group_id
   where letter.status in ('pending', 'investigating')
   order by letter.triage_at, letter.id;
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
comment on column remand.v_dlq_investigation_queue.triage_at
  is 'opened_at less the weight of its reason: what the rows are ordered by';
comment on column remand.v_dlq_investigation_queue.priority
  is 'minutes of its age and of the weight of its reason: the greatest is first';
comment on column remand.v_dlq_investigation_queue.labels is 'words of people';
comment on column remand.v_dlq_investigation_queue.requeues is 'automatic requeues of the step so far';
comment on column remand.v_dlq_investigation_queue.requeue_at
  is 'when it goes back by itself; null: it does not';
comment on column remand.v_dlq_investigation_queue.group_id is 'letters with the same cause';
comment on column remand.v_dlq_investigation_queue.group_state is 'how the investigation of the cause stands';
comment on column remand.v_dlq_investigation_queue.group_owner is 'who looks at the cause; null: nobody';
comment on column remand.v_dlq_investigation_queue.group_due_at
  is 'until when it should be dealt with; null: no day is set';
