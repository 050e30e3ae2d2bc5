-- Expand only: what old code reads and writes stays as it is. Tables and their _archive twins change together.

-- Instants that people gave before every door kept to the years 1970 to 2999: no page could show them.
update remand.dead_letter_groups
   set due_at = least(greatest(due_at, timestamptz '1970-01-01 00:00:00Z'), timestamptz '2999-12-31 23:59:59Z')
 where due_at < timestamptz '1970-01-01 00:00:00Z' or due_at >= timestamptz '3000-01-01 00:00:00Z';
update remand.redrives
   set not_before = least(greatest(not_before, timestamptz '1970-01-01 00:00:00Z'), timestamptz '2999-12-31 23:59:59Z')
 where not_before < timestamptz '1970-01-01 00:00:00Z' or not_before >= timestamptz '3000-01-01 00:00:00Z';

alter table remand.template_steps add column input jsonb;
comment on column remand.template_steps.input is 'replaces the workflow''s input for this step; null: it does not';

alter table remand.template_steps add column after text;
comment on column remand.template_steps.after is
  'failure or always: what end of its parents it follows; null: success';
alter table remand.workflows add column conditional boolean not null default false;
alter table remand.workflows_archive add column conditional boolean not null default false;
alter table remand.steps add column after text;
alter table remand.steps_archive add column after text;
comment on column remand.workflows.conditional is 'true: some steps follow a failure of their parents, or any end';
comment on column remand.workflows_archive.conditional is
  'true: some steps follow a failure of their parents, or any end';
comment on column remand.steps.after is 'failure or always: what end of its parents it follows; null: success';
comment on column remand.steps_archive.after is
  'failure or always: what end of its parents it follows; null: success';
create index steps_conditional on remand.steps (workflow_id) where after is not null and state = 'pending';
insert into remand.transition_rule (kind, from_state, event, to_state) values
  ('step', 'cancelled', 'restart', 'pending');
create table remand.queue_service (
  queue text constraint pk_queue_service primary key,
  served_at timestamptz,
  unserved tstzmultirange not null default '{}',
  resumed_at timestamptz);
comment on table remand.queue_service is 'When queues had workers, kept by the ring sweep: what waits while there is none grows no older.';
comment on column remand.queue_service.queue is 'Celery queue';
comment on column remand.queue_service.served_at is 'when a worker of it was last noted; null: never';
comment on column remand.queue_service.unserved is 'when it had none, the newest hundred spans';
comment on column remand.queue_service.resumed_at is 'when a person last let it go on; null: never';

-- What the registry of workers and the audit log knew until now.
insert into remand.queue_service (queue, served_at, resumed_at)
select coalesce(s.queue, r.queue), s.served_at, r.resumed_at
  from (select u.queue, max(w.heartbeat_at) served_at
          from remand.workers w, unnest(w.queues) u(queue) group by u.queue) s
  full join (select a.subject queue, max(a.at) resumed_at
               from remand.audit_log a where a.kind = 'queue' and a.verb = 'queue.resume' group by a.subject) r
    on r.queue = s.queue;

create index workflows_held on remand.workflows (id)
 where hold is not null and state in ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies');

-- As every function of the schema: a caller's search_path decides nothing.
alter function remand.refuse_change() set search_path = pg_catalog, pg_temp;
