-- How workflows stand that have not ended, one row each: a stable interface for people's own SQL. All that warn or are
-- stale, and of each state the thousand that are in it longest. It says what `remand stale --list` says.
create or replace view remand.v_staleness_monitoring as
  select * from remand.monitored_staleness(1000);
comment on view remand.v_staleness_monitoring is 'Workflows under way, and whether they show signs of life: all that are stale or soon will be, and the oldest of each state.';
comment on column remand.v_staleness_monitoring.workflow_id is 'the workflow';
comment on column remand.v_staleness_monitoring.namespace is 'of its template';
comment on column remand.v_staleness_monitoring.template is 'name of its template';
comment on column remand.v_staleness_monitoring.version is 'of its template';
comment on column remand.v_staleness_monitoring.state is 'its state';
comment on column remand.v_staleness_monitoring.queue is 'in which the step waits that waits longest; null: none does';
comment on column remand.v_staleness_monitoring.health is 'healthy, warning (for a good share of what is allowed) or stale (for longer)';
comment on column remand.v_staleness_monitoring.why is 'what it is measured by, such as worker_unavailable, lifetime, state, or why it waits with good reason';
comment on column remand.v_staleness_monitoring.since is 'since when it is measured';
comment on column remand.v_staleness_monitoring.stale_at is 'when what is allowed is over';
comment on column remand.v_staleness_monitoring.sign_at is 'its last sign of life; in the future: a retry that is not due yet';
comment on column remand.v_staleness_monitoring.created_at is 'when it was submitted';
comment on column remand.v_staleness_monitoring.action is 'what its lifecycle says becomes of it: dlq, error or none';
comment on column remand.v_staleness_monitoring.takes_out is 'true: the next sweep takes it out of work';
