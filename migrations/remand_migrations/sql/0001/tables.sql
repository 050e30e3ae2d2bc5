CREATE SEQUENCE remand.history_seq AS BIGINT CACHE 1;

CREATE TABLE remand.audit_log (
  id UUID NOT NULL,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  by TEXT NOT NULL,
  via TEXT NOT NULL,
  verb TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  workflow_id UUID,
  reason TEXT,
  before JSONB,
  after JSONB,
  PRIMARY KEY (id)
);

CREATE INDEX audit_log_by_age ON remand.audit_log (at);

CREATE INDEX audit_log_by_person ON remand.audit_log (by, id DESC);

CREATE INDEX audit_log_by_subject ON remand.audit_log (kind, subject, id DESC);

CREATE INDEX audit_log_by_workflow ON remand.audit_log (workflow_id, id DESC) WHERE workflow_id IS NOT NULL;

COMMENT ON TABLE remand.audit_log IS 'Every change that somebody decided, with before and after; append-only.';

COMMENT ON COLUMN remand.audit_log.id IS 'UUIDv7';

COMMENT ON COLUMN remand.audit_log.at IS 'when it was decided';

COMMENT ON COLUMN remand.audit_log.by IS 'who decided';

COMMENT ON COLUMN remand.audit_log.via IS 'cli, api, dashboard, celery or sweep';

COMMENT ON COLUMN remand.audit_log.verb IS 'what was decided, noun.verb';

COMMENT ON COLUMN remand.audit_log.kind IS 'kind of the thing it was about';

COMMENT ON COLUMN remand.audit_log.subject IS 'its id or name';

COMMENT ON COLUMN remand.audit_log.workflow_id IS 'its workflow; null: none';

COMMENT ON COLUMN remand.audit_log.reason IS 'a person''s words';

COMMENT ON COLUMN remand.audit_log.before IS 'what changed, as it was';

COMMENT ON COLUMN remand.audit_log.after IS 'what changed, as it is';

CREATE TABLE remand.users (
  id UUID NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  password_at TIMESTAMP WITH TIME ZONE NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  created_by TEXT NOT NULL,
  disabled_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT users_name UNIQUE (name),
  CONSTRAINT users_role CHECK (role IN ('viewer', 'operator', 'admin'))
);

COMMENT ON TABLE remand.users IS 'People who may sign in to the dashboard.';

COMMENT ON COLUMN remand.users.id IS 'UUIDv7';

COMMENT ON COLUMN remand.users.name IS 'what they sign in with; lower case';

COMMENT ON COLUMN remand.users.role IS 'viewer, operator or admin';

COMMENT ON COLUMN remand.users.password_hash IS 'argon2id, with its salt and parameters';

COMMENT ON COLUMN remand.users.password_at IS 'when the password was last set';

COMMENT ON COLUMN remand.users.created_at IS 'when they were added';

COMMENT ON COLUMN remand.users.created_by IS 'who added them';

COMMENT ON COLUMN remand.users.disabled_at IS 'since when they may not sign in; null: they may';

CREATE TABLE remand.login_codes (
  code_hash BYTEA NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (code_hash),
  CONSTRAINT login_codes_role CHECK (role IN ('viewer', 'operator', 'admin'))
);

CREATE INDEX login_codes_by_end ON remand.login_codes (expires_at);

COMMENT ON TABLE remand.login_codes IS 'Links that sign in once, as `remand up` prints; a used one is deleted.';

COMMENT ON COLUMN remand.login_codes.code_hash IS 'SHA-256 of the code in the link';

COMMENT ON COLUMN remand.login_codes.name IS 'who is signed in by it';

COMMENT ON COLUMN remand.login_codes.role IS 'what they may do then';

COMMENT ON COLUMN remand.login_codes.expires_at IS 'until when it can be used, once';

CREATE TABLE remand.api_tokens (
  id UUID NOT NULL,
  name TEXT NOT NULL,
  token_hash BYTEA NOT NULL,
  hint TEXT NOT NULL,
  role TEXT NOT NULL,
  scopes TEXT[],
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  created_by TEXT NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE,
  used_at TIMESTAMP WITH TIME ZONE,
  revoked_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT api_tokens_hash UNIQUE (token_hash),
  CONSTRAINT api_tokens_role CHECK (role IN ('viewer', 'operator', 'admin'))
);

CREATE INDEX api_tokens_by_end ON remand.api_tokens (coalesce(revoked_at, expires_at));

CREATE UNIQUE INDEX api_tokens_by_name ON remand.api_tokens (name) WHERE revoked_at IS NULL;

COMMENT ON TABLE remand.api_tokens IS 'What programs sign in with.';

COMMENT ON COLUMN remand.api_tokens.id IS 'UUIDv7';

COMMENT ON COLUMN remand.api_tokens.name IS 'what decisions made with it are recorded by';

COMMENT ON COLUMN remand.api_tokens.token_hash IS 'SHA-256 of the token';

COMMENT ON COLUMN remand.api_tokens.hint IS 'its first characters, to tell it by';

COMMENT ON COLUMN remand.api_tokens.role IS 'viewer, operator or admin';

COMMENT ON COLUMN remand.api_tokens.scopes IS 'what is left of the role, area:read or area:write; null: all';

COMMENT ON COLUMN remand.api_tokens.created_at IS 'when it was made';

COMMENT ON COLUMN remand.api_tokens.created_by IS 'who made it';

COMMENT ON COLUMN remand.api_tokens.expires_at IS 'when it ends; null: never';

COMMENT ON COLUMN remand.api_tokens.used_at IS 'when it was last used; written at most once a minute';

COMMENT ON COLUMN remand.api_tokens.revoked_at IS 'when it was revoked; null: it was not';

CREATE TABLE remand.login_attempts (
  key TEXT NOT NULL,
  account TEXT,
  failures INTEGER DEFAULT '0' NOT NULL,
  blocked_until TIMESTAMP WITH TIME ZONE,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (key)
);

CREATE INDEX login_attempts_by_age ON remand.login_attempts (at);

COMMENT ON TABLE remand.login_attempts IS 'How often signing in failed lately, by account, by address and by browser.';

COMMENT ON COLUMN remand.login_attempts.key IS 'account:NAME, address:ADDRESS, or device:HASH of a browser';

COMMENT ON COLUMN remand.login_attempts.account IS 'of a browser: who signed in there before';

COMMENT ON COLUMN remand.login_attempts.failures IS 'wrong passwords in a row';

COMMENT ON COLUMN remand.login_attempts.blocked_until IS 'until when no try counts; null: none is held up';

COMMENT ON COLUMN remand.login_attempts.at IS 'when it was last tried';

CREATE TABLE remand.workflows (
  id UUID NOT NULL,
  template_id INTEGER NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  input JSONB NOT NULL,
  submitted_by TEXT NOT NULL,
  identity_key TEXT,
  priority SMALLINT NOT NULL,
  state TEXT NOT NULL,
  state_since TIMESTAMP WITH TIME ZONE NOT NULL,
  open_steps INTEGER NOT NULL,
  error_steps INTEGER DEFAULT 0 NOT NULL,
  troubled BOOLEAN DEFAULT false NOT NULL,
  gives_up BOOLEAN DEFAULT false NOT NULL,
  hold TEXT,
  tags TEXT[],
  expires_at TIMESTAMP WITH TIME ZONE,
  paused_at TIMESTAMP WITH TIME ZONE,
  paused_by TEXT,
  pause_reason TEXT,
  paused_with_template BOOLEAN DEFAULT false NOT NULL,
  stale_warned_at TIMESTAMP WITH TIME ZONE,
  restored_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT complete_means_all_done CHECK (state <> 'complete' OR open_steps = 0),
  CONSTRAINT counters_not_negative CHECK (open_steps >= 0 AND error_steps >= 0),
  CONSTRAINT priority_range CHECK (priority BETWEEN 0 AND 9),
  CONSTRAINT state_known CHECK (state IN ('pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually'))
)
 PARTITION BY RANGE (id);

CREATE INDEX workflows_by_age ON remand.workflows (template_id, created_at) WHERE state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually', 'blocked_by_failures') AND paused_at IS NULL;

CREATE INDEX workflows_expiring ON remand.workflows (expires_at) WHERE state IN ('steps_in_process', 'waiting_for_retry', 'waiting_for_dependencies');

CREATE INDEX workflows_open ON remand.workflows (state, state_since) WHERE state NOT IN ('complete', 'error', 'cancelled', 'resolved_manually');

CREATE INDEX workflows_paused ON remand.workflows (id) WHERE paused_at IS NOT NULL;

CREATE INDEX workflows_tags ON remand.workflows USING gin (tags) WHERE tags IS NOT NULL;

COMMENT ON TABLE remand.workflows IS 'One row per workflow.';

COMMENT ON COLUMN remand.workflows.id IS 'UUIDv7, partition key';

COMMENT ON COLUMN remand.workflows.template_id IS 'templates.id';

COMMENT ON COLUMN remand.workflows.created_at IS 'when it was submitted';

COMMENT ON COLUMN remand.workflows.input IS 'the input, as validated against the template''s schema';

COMMENT ON COLUMN remand.workflows.submitted_by IS 'who or what submitted it';

COMMENT ON COLUMN remand.workflows.identity_key IS 'SHA-256 of its identity, hex; null: always unique';

COMMENT ON COLUMN remand.workflows.priority IS '0-9, higher first';

COMMENT ON COLUMN remand.workflows.state IS 'see the state machine';

COMMENT ON COLUMN remand.workflows.state_since IS 'instant of the last move';

COMMENT ON COLUMN remand.workflows.open_steps IS 'steps that are neither complete nor resolved nor cancelled';

COMMENT ON COLUMN remand.workflows.error_steps IS 'steps in error';

COMMENT ON COLUMN remand.workflows.troubled IS 'true once a step failed: settle then rolls the workflow up';

COMMENT ON COLUMN remand.workflows.gives_up IS 'true: its failure got no dead letter: it ends in error once nothing else is under way';

COMMENT ON COLUMN remand.workflows.hold IS 'not null: why no further step is enqueued';

COMMENT ON COLUMN remand.workflows.tags IS 'words of the submitter, to find it by; null: none';

COMMENT ON COLUMN remand.workflows.expires_at IS 'when it becomes a dead letter if it has not ended; null: never';

COMMENT ON COLUMN remand.workflows.paused_at IS 'since when a person holds it; null: nobody does';

COMMENT ON COLUMN remand.workflows.paused_by IS 'who holds it';

COMMENT ON COLUMN remand.workflows.pause_reason IS 'a person''s words';

COMMENT ON COLUMN remand.workflows.paused_with_template IS 'true: held because its template is; goes on with it';

COMMENT ON COLUMN remand.workflows.stale_warned_at IS 'when people were warned that it may be stale soon';

COMMENT ON COLUMN remand.workflows.restored_at IS 'when it came back from the archive; null: it did not';

CREATE TABLE remand.steps (
  workflow_id UUID NOT NULL,
  name TEXT NOT NULL,
  position INTEGER NOT NULL,
  handler TEXT NOT NULL,
  dependency TEXT,
  queue TEXT NOT NULL,
  priority SMALLINT NOT NULL,
  timeout_seconds FLOAT,
  commit_each BOOLEAN NOT NULL,
  depends_on TEXT[] NOT NULL,
  children TEXT[] NOT NULL,
  state TEXT NOT NULL,
  open_parents INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  failures INTEGER DEFAULT 0 NOT NULL,
  lost_attempts INTEGER DEFAULT 0 NOT NULL,
  worker UUID,
  enqueued_at TIMESTAMP WITH TIME ZONE,
  started_at TIMESTAMP WITH TIME ZONE,
  ended_at TIMESTAMP WITH TIME ZONE,
  input JSONB,
  checkpoint JSONB,
  failing_since TIMESTAMP WITH TIME ZONE,
  failure JSONB,
  result JSONB,
  PRIMARY KEY (workflow_id, name),
  CONSTRAINT ended_means_final CHECK ((ended_at IS NOT NULL) = (state IN ('complete', 'error', 'cancelled', 'resolved_manually'))),
  CONSTRAINT open_parents_not_negative CHECK (open_parents >= 0),
  CONSTRAINT state_known CHECK (state IN ('pending', 'enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration', 'waiting_for_retry', 'complete', 'error', 'cancelled', 'resolved_manually'))
)
 PARTITION BY RANGE (workflow_id);

COMMENT ON TABLE remand.steps IS 'One row per step of a workflow.';

COMMENT ON COLUMN remand.steps.workflow_id IS 'workflows.id, partition key';

COMMENT ON COLUMN remand.steps.name IS 'step name';

COMMENT ON COLUMN remand.steps.position IS 'order in the template, from 0';

COMMENT ON COLUMN remand.steps.handler IS 'registered name of the handler';

COMMENT ON COLUMN remand.steps.dependency IS 'whose breaker it minds; null: its handler';

COMMENT ON COLUMN remand.steps.queue IS 'Celery queue whose workers run it';

COMMENT ON COLUMN remand.steps.priority IS '0-9, higher first';

COMMENT ON COLUMN remand.steps.timeout_seconds IS 'soft timeout, seconds; null: the setting';

COMMENT ON COLUMN remand.steps.commit_each IS 'true: its result is committed alone and at once';

COMMENT ON COLUMN remand.steps.depends_on IS 'names of the parents';

COMMENT ON COLUMN remand.steps.children IS 'names of the steps that depend on it';

COMMENT ON COLUMN remand.steps.state IS 'see the state machine';

COMMENT ON COLUMN remand.steps.open_parents IS 'parents that do not yet satisfy it';

COMMENT ON COLUMN remand.steps.attempt IS 'number of the current or last attempt; 0: never claimed';

COMMENT ON COLUMN remand.steps.failures IS 'attempts that failed or timed out';

COMMENT ON COLUMN remand.steps.lost_attempts IS 'attempts whose process died';

COMMENT ON COLUMN remand.steps.worker IS 'worker incarnation of the current or last attempt';

COMMENT ON COLUMN remand.steps.enqueued_at IS 'not null: the move to enqueued, not in history';

COMMENT ON COLUMN remand.steps.started_at IS 'not null: the move to in_progress, not in history';

COMMENT ON COLUMN remand.steps.ended_at IS 'when it reached a final state';

COMMENT ON COLUMN remand.steps.input IS 'replaces the workflow''s input for this step';

COMMENT ON COLUMN remand.steps.checkpoint IS 'what the handler saved last';

COMMENT ON COLUMN remand.steps.failing_since IS 'first failure since it was last (re)started';

COMMENT ON COLUMN remand.steps.failure IS 'the last failure with its classification';

COMMENT ON COLUMN remand.steps.result IS 'what the handler returned';

CREATE TABLE remand.attempts (
  workflow_id UUID NOT NULL,
  step TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  worker UUID,
  started_at TIMESTAMP WITH TIME ZONE,
  ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
  failure JSONB,
  policy TEXT,
  decision TEXT,
  decided_at TIMESTAMP WITH TIME ZONE,
  due_at TIMESTAMP WITH TIME ZONE,
  explanation TEXT,
  PRIMARY KEY (workflow_id, step, attempt),
  CONSTRAINT attempt_from_one CHECK (attempt >= 1),
  CONSTRAINT decision_known CHECK (decision IN ('retry', 'dead')),
  CONSTRAINT outcome_known CHECK (outcome IN ('complete', 'failed', 'timed_out', 'lost', 'interrupted'))
)
 PARTITION BY RANGE (workflow_id);

COMMENT ON TABLE remand.attempts IS 'Attempts that did not go well; the good one is in its step''s row. View all_attempts has both.';

COMMENT ON COLUMN remand.attempts.workflow_id IS 'workflows.id, partition key';

COMMENT ON COLUMN remand.attempts.step IS 'step name';

COMMENT ON COLUMN remand.attempts.attempt IS 'number of the attempt, from 1';

COMMENT ON COLUMN remand.attempts.outcome IS 'how it ended';

COMMENT ON COLUMN remand.attempts.worker IS 'worker incarnation that ran it';

COMMENT ON COLUMN remand.attempts.started_at IS 'when it was claimed';

COMMENT ON COLUMN remand.attempts.ended_at IS 'when its end was recorded';

COMMENT ON COLUMN remand.attempts.failure IS 'class, message, traceback and classification';

COMMENT ON COLUMN remand.attempts.policy IS 'the retry queue it was routed to';

COMMENT ON COLUMN remand.attempts.decision IS 'retry, dead or null while undecided';

COMMENT ON COLUMN remand.attempts.decided_at IS 'when a worker of that queue decided';

COMMENT ON COLUMN remand.attempts.due_at IS 'when the retry is due';

COMMENT ON COLUMN remand.attempts.explanation IS 'why it was decided so, for a person';

CREATE TABLE remand.identities (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  workflow_id UUID NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (namespace, name, key)
);

COMMENT ON TABLE remand.identities IS 'Which identities are taken; unpartitioned so that uniqueness holds over all time.';

COMMENT ON COLUMN remand.identities.namespace IS 'of the template';

COMMENT ON COLUMN remand.identities.name IS 'of the template';

COMMENT ON COLUMN remand.identities.key IS 'SHA-256 of the identity, hex';

COMMENT ON COLUMN remand.identities.workflow_id IS 'the first workflow with this identity';

COMMENT ON COLUMN remand.identities.created_at IS 'when it was taken';

CREATE TABLE remand.workflows_archive (
  id UUID NOT NULL,
  template_id INTEGER NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  input JSONB NOT NULL,
  submitted_by TEXT NOT NULL,
  identity_key TEXT,
  priority SMALLINT NOT NULL,
  state TEXT NOT NULL,
  state_since TIMESTAMP WITH TIME ZONE NOT NULL,
  open_steps INTEGER NOT NULL,
  error_steps INTEGER DEFAULT 0 NOT NULL,
  troubled BOOLEAN DEFAULT false NOT NULL,
  gives_up BOOLEAN DEFAULT false NOT NULL,
  hold TEXT,
  tags TEXT[],
  expires_at TIMESTAMP WITH TIME ZONE,
  paused_at TIMESTAMP WITH TIME ZONE,
  paused_by TEXT,
  pause_reason TEXT,
  paused_with_template BOOLEAN DEFAULT false NOT NULL,
  stale_warned_at TIMESTAMP WITH TIME ZONE,
  restored_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT complete_means_all_done CHECK (state <> 'complete' OR open_steps = 0),
  CONSTRAINT counters_not_negative CHECK (open_steps >= 0 AND error_steps >= 0),
  CONSTRAINT priority_range CHECK (priority BETWEEN 0 AND 9),
  CONSTRAINT state_known CHECK (state IN ('pending', 'initializing', 'enqueuing_steps', 'steps_in_process', 'evaluating_results', 'waiting_for_dependencies', 'waiting_for_retry', 'blocked_by_failures', 'complete', 'error', 'cancelled', 'resolved_manually'))
)
 PARTITION BY RANGE (id);

CREATE INDEX workflows_archive_tags ON remand.workflows_archive USING gin (tags) WHERE tags IS NOT NULL;

COMMENT ON TABLE remand.workflows_archive IS 'Finished workflows past their retention. Read-only.';

COMMENT ON COLUMN remand.workflows_archive.id IS 'UUIDv7, partition key';

COMMENT ON COLUMN remand.workflows_archive.template_id IS 'templates.id';

COMMENT ON COLUMN remand.workflows_archive.created_at IS 'when it was submitted';

COMMENT ON COLUMN remand.workflows_archive.input IS 'the input, as validated against the template''s schema';

COMMENT ON COLUMN remand.workflows_archive.submitted_by IS 'who or what submitted it';

COMMENT ON COLUMN remand.workflows_archive.identity_key IS 'SHA-256 of its identity, hex; null: always unique';

COMMENT ON COLUMN remand.workflows_archive.priority IS '0-9, higher first';

COMMENT ON COLUMN remand.workflows_archive.state IS 'see the state machine';

COMMENT ON COLUMN remand.workflows_archive.state_since IS 'instant of the last move';

COMMENT ON COLUMN remand.workflows_archive.open_steps IS 'steps that are neither complete nor resolved nor cancelled';

COMMENT ON COLUMN remand.workflows_archive.error_steps IS 'steps in error';

COMMENT ON COLUMN remand.workflows_archive.troubled IS 'true once a step failed: settle then rolls the workflow up';

COMMENT ON COLUMN remand.workflows_archive.gives_up IS 'true: its failure got no dead letter: it ends in error once nothing else is under way';

COMMENT ON COLUMN remand.workflows_archive.hold IS 'not null: why no further step is enqueued';

COMMENT ON COLUMN remand.workflows_archive.tags IS 'words of the submitter, to find it by; null: none';

COMMENT ON COLUMN remand.workflows_archive.expires_at IS 'when it becomes a dead letter if it has not ended; null: never';

COMMENT ON COLUMN remand.workflows_archive.paused_at IS 'since when a person holds it; null: nobody does';

COMMENT ON COLUMN remand.workflows_archive.paused_by IS 'who holds it';

COMMENT ON COLUMN remand.workflows_archive.pause_reason IS 'a person''s words';

COMMENT ON COLUMN remand.workflows_archive.paused_with_template IS 'true: held because its template is; goes on with it';

COMMENT ON COLUMN remand.workflows_archive.stale_warned_at IS 'when people were warned that it may be stale soon';

COMMENT ON COLUMN remand.workflows_archive.restored_at IS 'when it came back from the archive; null: it did not';

CREATE TABLE remand.steps_archive (
  workflow_id UUID NOT NULL,
  name TEXT NOT NULL,
  position INTEGER NOT NULL,
  handler TEXT NOT NULL,
  dependency TEXT,
  queue TEXT NOT NULL,
  priority SMALLINT NOT NULL,
  timeout_seconds FLOAT,
  commit_each BOOLEAN NOT NULL,
  depends_on TEXT[] NOT NULL,
  children TEXT[] NOT NULL,
  state TEXT NOT NULL,
  open_parents INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  failures INTEGER DEFAULT 0 NOT NULL,
  lost_attempts INTEGER DEFAULT 0 NOT NULL,
  worker UUID,
  enqueued_at TIMESTAMP WITH TIME ZONE,
  started_at TIMESTAMP WITH TIME ZONE,
  ended_at TIMESTAMP WITH TIME ZONE,
  input JSONB,
  checkpoint JSONB,
  failing_since TIMESTAMP WITH TIME ZONE,
  failure JSONB,
  result JSONB,
  PRIMARY KEY (workflow_id, name),
  CONSTRAINT ended_means_final CHECK ((ended_at IS NOT NULL) = (state IN ('complete', 'error', 'cancelled', 'resolved_manually'))),
  CONSTRAINT open_parents_not_negative CHECK (open_parents >= 0),
  CONSTRAINT state_known CHECK (state IN ('pending', 'enqueued', 'in_progress', 'enqueued_for_orchestration', 'enqueued_as_error_for_orchestration', 'waiting_for_retry', 'complete', 'error', 'cancelled', 'resolved_manually'))
)
 PARTITION BY RANGE (workflow_id);

COMMENT ON TABLE remand.steps_archive IS 'Steps of archived workflows. Read-only.';

COMMENT ON COLUMN remand.steps_archive.workflow_id IS 'workflows.id, partition key';

COMMENT ON COLUMN remand.steps_archive.name IS 'step name';

COMMENT ON COLUMN remand.steps_archive.position IS 'order in the template, from 0';

COMMENT ON COLUMN remand.steps_archive.handler IS 'registered name of the handler';

COMMENT ON COLUMN remand.steps_archive.dependency IS 'whose breaker it minds; null: its handler';

COMMENT ON COLUMN remand.steps_archive.queue IS 'Celery queue whose workers run it';

COMMENT ON COLUMN remand.steps_archive.priority IS '0-9, higher first';

COMMENT ON COLUMN remand.steps_archive.timeout_seconds IS 'soft timeout, seconds; null: the setting';

COMMENT ON COLUMN remand.steps_archive.commit_each IS 'true: its result is committed alone and at once';

COMMENT ON COLUMN remand.steps_archive.depends_on IS 'names of the parents';

COMMENT ON COLUMN remand.steps_archive.children IS 'names of the steps that depend on it';

COMMENT ON COLUMN remand.steps_archive.state IS 'see the state machine';

COMMENT ON COLUMN remand.steps_archive.open_parents IS 'parents that do not yet satisfy it';

COMMENT ON COLUMN remand.steps_archive.attempt IS 'number of the current or last attempt; 0: never claimed';

COMMENT ON COLUMN remand.steps_archive.failures IS 'attempts that failed or timed out';

COMMENT ON COLUMN remand.steps_archive.lost_attempts IS 'attempts whose process died';

COMMENT ON COLUMN remand.steps_archive.worker IS 'worker incarnation of the current or last attempt';

COMMENT ON COLUMN remand.steps_archive.enqueued_at IS 'not null: the move to enqueued, not in history';

COMMENT ON COLUMN remand.steps_archive.started_at IS 'not null: the move to in_progress, not in history';

COMMENT ON COLUMN remand.steps_archive.ended_at IS 'when it reached a final state';

COMMENT ON COLUMN remand.steps_archive.input IS 'replaces the workflow''s input for this step';

COMMENT ON COLUMN remand.steps_archive.checkpoint IS 'what the handler saved last';

COMMENT ON COLUMN remand.steps_archive.failing_since IS 'first failure since it was last (re)started';

COMMENT ON COLUMN remand.steps_archive.failure IS 'the last failure with its classification';

COMMENT ON COLUMN remand.steps_archive.result IS 'what the handler returned';

CREATE TABLE remand.attempts_archive (
  workflow_id UUID NOT NULL,
  step TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  worker UUID,
  started_at TIMESTAMP WITH TIME ZONE,
  ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
  failure JSONB,
  policy TEXT,
  decision TEXT,
  decided_at TIMESTAMP WITH TIME ZONE,
  due_at TIMESTAMP WITH TIME ZONE,
  explanation TEXT,
  PRIMARY KEY (workflow_id, step, attempt),
  CONSTRAINT attempt_from_one CHECK (attempt >= 1),
  CONSTRAINT decision_known CHECK (decision IN ('retry', 'dead')),
  CONSTRAINT outcome_known CHECK (outcome IN ('complete', 'failed', 'timed_out', 'lost', 'interrupted'))
)
 PARTITION BY RANGE (workflow_id);

COMMENT ON TABLE remand.attempts_archive IS 'Attempts of archived workflows that did not go well. Read-only.';

COMMENT ON COLUMN remand.attempts_archive.workflow_id IS 'workflows.id, partition key';

COMMENT ON COLUMN remand.attempts_archive.step IS 'step name';

COMMENT ON COLUMN remand.attempts_archive.attempt IS 'number of the attempt, from 1';

COMMENT ON COLUMN remand.attempts_archive.outcome IS 'how it ended';

COMMENT ON COLUMN remand.attempts_archive.worker IS 'worker incarnation that ran it';

COMMENT ON COLUMN remand.attempts_archive.started_at IS 'when it was claimed';

COMMENT ON COLUMN remand.attempts_archive.ended_at IS 'when its end was recorded';

COMMENT ON COLUMN remand.attempts_archive.failure IS 'class, message, traceback and classification';

COMMENT ON COLUMN remand.attempts_archive.policy IS 'the retry queue it was routed to';

COMMENT ON COLUMN remand.attempts_archive.decision IS 'retry, dead or null while undecided';

COMMENT ON COLUMN remand.attempts_archive.decided_at IS 'when a worker of that queue decided';

COMMENT ON COLUMN remand.attempts_archive.due_at IS 'when the retry is due';

COMMENT ON COLUMN remand.attempts_archive.explanation IS 'why it was decided so, for a person';

CREATE TABLE remand.archive_runs (
  id UUID NOT NULL,
  kind TEXT NOT NULL,
  path TEXT NOT NULL,
  period TEXT NOT NULL,
  starts_at TIMESTAMP WITH TIME ZONE,
  ends_at TIMESTAMP WITH TIME ZONE,
  workflows BIGINT NOT NULL,
  steps BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  history BIGINT NOT NULL,
  stayed BIGINT NOT NULL,
  checksum NUMERIC NOT NULL,
  bytes_before BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  lock_ms FLOAT,
  started_at TIMESTAMP WITH TIME ZONE NOT NULL,
  ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
  verified_at TIMESTAMP WITH TIME ZONE,
  by TEXT NOT NULL,
  place TEXT,
  PRIMARY KEY (id),
  CONSTRAINT kind_known CHECK (kind IN ('archive', 'restore', 'export', 'drop')),
  CONSTRAINT path_known CHECK (path IN ('period', 'batch'))
);

CREATE INDEX archive_runs_by_period ON remand.archive_runs (period, id);

CREATE INDEX archive_runs_unverified ON remand.archive_runs (id) WHERE verified_at IS NULL;

COMMENT ON TABLE remand.archive_runs IS 'Moves into the archive and out of it, each written in the transaction that made it.';

COMMENT ON COLUMN remand.archive_runs.id IS 'UUIDv7';

COMMENT ON COLUMN remand.archive_runs.kind IS 'archive, restore, export or drop';

COMMENT ON COLUMN remand.archive_runs.path IS 'period: a partition changed hands; batch: rows were copied and deleted';

COMMENT ON COLUMN remand.archive_runs.period IS 'the suffix of the partition, ''default'' for rows of no partition';

COMMENT ON COLUMN remand.archive_runs.starts_at IS 'where the period begins; null: no period';

COMMENT ON COLUMN remand.archive_runs.ends_at IS 'where it ends, exclusive; null: no period';

COMMENT ON COLUMN remand.archive_runs.workflows IS 'workflows moved';

COMMENT ON COLUMN remand.archive_runs.steps IS 'steps moved';

COMMENT ON COLUMN remand.archive_runs.attempts IS 'attempts moved';

COMMENT ON COLUMN remand.archive_runs.history IS 'moves moved';

COMMENT ON COLUMN remand.archive_runs.stayed IS 'workflows that stayed live and went to the default partition';

COMMENT ON COLUMN remand.archive_runs.checksum IS 'sum of hashes over ids and states of all rows, before and after';

COMMENT ON COLUMN remand.archive_runs.bytes_before IS 'size of the four partitions before, indexes included';

COMMENT ON COLUMN remand.archive_runs.bytes IS 'size of the four in the archive afterwards';

COMMENT ON COLUMN remand.archive_runs.lock_ms IS 'milliseconds that live work was locked out; null: it was not';

COMMENT ON COLUMN remand.archive_runs.started_at IS 'when the move began';

COMMENT ON COLUMN remand.archive_runs.ended_at IS 'when the last of it was committed';

COMMENT ON COLUMN remand.archive_runs.verified_at IS 'when the checksum was found again; null: not yet';

COMMENT ON COLUMN remand.archive_runs.by IS 'who or what moved it';

COMMENT ON COLUMN remand.archive_runs.place IS 'the directory of an export; null: it is none';

CREATE TABLE remand.breakers (
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  state_since TIMESTAMP WITH TIME ZONE NOT NULL,
  openings INTEGER NOT NULL,
  probe_at TIMESTAMP WITH TIME ZONE,
  probes_succeeded INTEGER NOT NULL,
  releasing_since TIMESTAMP WITH TIME ZONE,
  release_all BOOLEAN NOT NULL,
  released_at TIMESTAMP WITH TIME ZONE,
  by TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (name),
  CONSTRAINT probe_at_means_open CHECK (probe_at IS NULL OR state = 'open'),
  CONSTRAINT releasing_means_closed CHECK (releasing_since IS NULL OR state = 'closed'),
  CONSTRAINT state_known CHECK (state IN ('closed', 'open', 'half_open'))
);

CREATE INDEX breakers_gating ON remand.breakers (name) WHERE state <> 'closed' OR releasing_since IS NOT NULL;

COMMENT ON TABLE remand.breakers IS 'Circuit breakers that ever moved; one that has no row is closed.';

COMMENT ON COLUMN remand.breakers.name IS 'the dependency';

COMMENT ON COLUMN remand.breakers.state IS 'closed, open or half_open';

COMMENT ON COLUMN remand.breakers.state_since IS 'instant of the last move';

COMMENT ON COLUMN remand.breakers.openings IS 'times it opened without closing in between: the cool-down grows';

COMMENT ON COLUMN remand.breakers.probe_at IS 'open: when probes go through; null: not by itself';

COMMENT ON COLUMN remand.breakers.probes_succeeded IS 'half-open: probes that went well';

COMMENT ON COLUMN remand.breakers.releasing_since IS 'closed, but what it held goes out at a rate';

COMMENT ON COLUMN remand.breakers.release_all IS 'true: what it held goes out at once';

COMMENT ON COLUMN remand.breakers.released_at IS 'when it last let something through';

COMMENT ON COLUMN remand.breakers.by IS 'who or what moved it last';

COMMENT ON COLUMN remand.breakers.reason IS 'why, for a person';

CREATE TABLE remand.traffic (
  namespace TEXT NOT NULL,
  handler TEXT NOT NULL,
  dependency TEXT NOT NULL,
  bucket TIMESTAMP WITH TIME ZONE NOT NULL,
  attempts INTEGER DEFAULT 0 NOT NULL,
  failures INTEGER DEFAULT 0 NOT NULL,
  retries INTEGER DEFAULT 0 NOT NULL,
  PRIMARY KEY (dependency, handler, namespace, bucket)
);

CREATE INDEX traffic_by_age ON remand.traffic (bucket);

CREATE INDEX traffic_by_handler ON remand.traffic (namespace, handler, bucket);

COMMENT ON TABLE remand.traffic IS 'What breakers and retry budgets are judged by; the last minutes only, never a record.';

COMMENT ON COLUMN remand.traffic.namespace IS 'of the template';

COMMENT ON COLUMN remand.traffic.handler IS 'registered name of the handler';

COMMENT ON COLUMN remand.traffic.dependency IS 'whose breaker its steps mind';

COMMENT ON COLUMN remand.traffic.bucket IS 'the second counted';

COMMENT ON COLUMN remand.traffic.attempts IS 'attempts that ended';

COMMENT ON COLUMN remand.traffic.failures IS 'failures that the breaker counts';

COMMENT ON COLUMN remand.traffic.retries IS 'retries that were decided';

CREATE TABLE remand.retry_budgets (
  namespace TEXT NOT NULL,
  handler TEXT NOT NULL,
  next_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (namespace, handler)
);

COMMENT ON TABLE remand.retry_budgets IS 'How far retries beyond the budget are spread already.';

COMMENT ON COLUMN remand.retry_budgets.namespace IS 'of the template';

COMMENT ON COLUMN remand.retry_budgets.handler IS 'registered name of the handler';

COMMENT ON COLUMN remand.retry_budgets.next_at IS 'the next free turn of a retry beyond the budget';

CREATE TABLE remand.unclassified (
  fingerprint TEXT NOT NULL,
  error_class TEXT NOT NULL,
  message TEXT NOT NULL,
  count BIGINT NOT NULL,
  first_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_at TIMESTAMP WITH TIME ZONE NOT NULL,
  workflow_id UUID NOT NULL,
  step TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  handler TEXT NOT NULL,
  PRIMARY KEY (fingerprint)
);

CREATE INDEX unclassified_newest ON remand.unclassified (last_at DESC);

COMMENT ON TABLE remand.unclassified IS 'Failures that no rule knows, by fingerprint: what a rule could be written from.';

COMMENT ON COLUMN remand.unclassified.fingerprint IS 'what the failures have in common';

COMMENT ON COLUMN remand.unclassified.error_class IS 'qualified class';

COMMENT ON COLUMN remand.unclassified.message IS 'of the last one, redacted';

COMMENT ON COLUMN remand.unclassified.count IS 'failures so far';

COMMENT ON COLUMN remand.unclassified.first_at IS 'first seen';

COMMENT ON COLUMN remand.unclassified.last_at IS 'last seen';

COMMENT ON COLUMN remand.unclassified.workflow_id IS 'of the last one';

COMMENT ON COLUMN remand.unclassified.step IS 'of the last one';

COMMENT ON COLUMN remand.unclassified.attempt IS 'of the last one';

COMMENT ON COLUMN remand.unclassified.handler IS 'of the last one';

CREATE TABLE remand.dead_queues (
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  size_limit INTEGER,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  created_by TEXT NOT NULL,
  PRIMARY KEY (name)
);

COMMENT ON TABLE remand.dead_queues IS 'Where dead letters lie. ''default'' is always there; a dead queue has no dead queue of its own.';

COMMENT ON COLUMN remand.dead_queues.name IS 'name of the dead queue';

COMMENT ON COLUMN remand.dead_queues.description IS 'whose it is and what for';

COMMENT ON COLUMN remand.dead_queues.size_limit IS 'open letters it is meant to hold; null: the setting';

COMMENT ON COLUMN remand.dead_queues.created_at IS 'when it was made';

COMMENT ON COLUMN remand.dead_queues.created_by IS 'who made it';

CREATE TABLE remand.dead_letter_groups (
  id UUID NOT NULL,
  fingerprint TEXT NOT NULL,
  cause TEXT NOT NULL,
  namespace TEXT NOT NULL,
  template TEXT NOT NULL,
  version TEXT NOT NULL,
  step TEXT NOT NULL,
  handler TEXT NOT NULL,
  error_class TEXT NOT NULL,
  message TEXT NOT NULL,
  category TEXT NOT NULL,
  state TEXT NOT NULL,
  state_since TIMESTAMP WITH TIME ZONE NOT NULL,
  owner TEXT,
  due_at TIMESTAMP WITH TIME ZONE,
  first_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_at TIMESTAMP WITH TIME ZONE NOT NULL,
  letters INTEGER DEFAULT 0 NOT NULL,
  open_letters INTEGER DEFAULT 0 NOT NULL,
  resolved_at TIMESTAMP WITH TIME ZONE,
  resolved_by TEXT,
  resolution TEXT,
  reopenings INTEGER DEFAULT 0 NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (fingerprint),
  CONSTRAINT investigated_by_whom CHECK (state <> 'investigating' OR owner IS NOT NULL),
  CONSTRAINT resolved_when CHECK (state <> 'resolved' OR resolved_at IS NOT NULL),
  CONSTRAINT state_known CHECK (state IN ('open', 'investigating', 'resolved'))
);

CREATE INDEX dead_letter_groups_by_cause ON remand.dead_letter_groups (cause);

CREATE INDEX dead_letter_groups_by_state ON remand.dead_letter_groups (state, last_at DESC, id DESC);

CREATE INDEX dead_letter_groups_largest ON remand.dead_letter_groups (open_letters DESC, id DESC) WHERE state IN ('open', 'investigating');

CREATE INDEX dead_letter_groups_quiet ON remand.dead_letter_groups (greatest(last_at, state_since)) WHERE state IN ('open', 'resolved');

CREATE INDEX dead_letter_groups_recent ON remand.dead_letter_groups (last_at DESC, id DESC) WHERE state IN ('open', 'investigating');

COMMENT ON TABLE remand.dead_letter_groups IS 'Letters with one cause: who looks at it, until when, how it was resolved, whether it came back.';

COMMENT ON COLUMN remand.dead_letter_groups.id IS 'UUIDv7';

COMMENT ON COLUMN remand.dead_letter_groups.fingerprint IS 'cause, step and template version';

COMMENT ON COLUMN remand.dead_letter_groups.cause IS 'the same for every version of the template';

COMMENT ON COLUMN remand.dead_letter_groups.namespace IS 'of the template';

COMMENT ON COLUMN remand.dead_letter_groups.template IS 'name of the template';

COMMENT ON COLUMN remand.dead_letter_groups.version IS 'version of the template';

COMMENT ON COLUMN remand.dead_letter_groups.step IS 'step whose failures these are';

COMMENT ON COLUMN remand.dead_letter_groups.handler IS 'its handler';

COMMENT ON COLUMN remand.dead_letter_groups.error_class IS 'qualified class';

COMMENT ON COLUMN remand.dead_letter_groups.message IS 'the stable part of the message, redacted';

COMMENT ON COLUMN remand.dead_letter_groups.category IS 'classification of the first failure';

COMMENT ON COLUMN remand.dead_letter_groups.state IS 'open, investigating or resolved';

COMMENT ON COLUMN remand.dead_letter_groups.state_since IS 'instant of the last move';

COMMENT ON COLUMN remand.dead_letter_groups.owner IS 'who looks at it';

COMMENT ON COLUMN remand.dead_letter_groups.due_at IS 'until when it should be dealt with';

COMMENT ON COLUMN remand.dead_letter_groups.first_at IS 'first letter';

COMMENT ON COLUMN remand.dead_letter_groups.last_at IS 'last letter, as last counted';

COMMENT ON COLUMN remand.dead_letter_groups.letters IS 'letters ever, as last counted';

COMMENT ON COLUMN remand.dead_letter_groups.open_letters IS 'of them open, as last counted';

COMMENT ON COLUMN remand.dead_letter_groups.resolved_at IS 'when it was resolved last';

COMMENT ON COLUMN remand.dead_letter_groups.resolved_by IS 'by whom';

COMMENT ON COLUMN remand.dead_letter_groups.resolution IS 'how, in a person''s words';

COMMENT ON COLUMN remand.dead_letter_groups.reopenings IS 'times its cause came back';

CREATE TABLE remand.dead_letter_deltas (
  seq BIGSERIAL NOT NULL,
  hour TIMESTAMP WITH TIME ZONE,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  group_id UUID NOT NULL,
  namespace TEXT NOT NULL,
  template TEXT NOT NULL,
  dead_queue TEXT NOT NULL,
  reason TEXT NOT NULL,
  category TEXT NOT NULL,
  policy TEXT NOT NULL,
  status TEXT NOT NULL,
  amount INTEGER NOT NULL,
  closed_seconds FLOAT NOT NULL,
  opened INTEGER DEFAULT 0 NOT NULL,
  closed INTEGER DEFAULT 0 NOT NULL,
  returned INTEGER DEFAULT 0 NOT NULL,
  PRIMARY KEY (seq)
);

COMMENT ON TABLE remand.dead_letter_deltas IS 'Changes of letters not yet counted; only inserted and folded, so no writer waits for another.';

COMMENT ON COLUMN remand.dead_letter_deltas.seq IS 'key';

COMMENT ON COLUMN remand.dead_letter_deltas.hour IS 'when letters were opened, to the hour; null: they only changed';

COMMENT ON COLUMN remand.dead_letter_deltas.at IS 'newest of these letters';

COMMENT ON COLUMN remand.dead_letter_deltas.group_id IS 'their group';

COMMENT ON COLUMN remand.dead_letter_deltas.namespace IS 'of the template';

COMMENT ON COLUMN remand.dead_letter_deltas.template IS 'name of the template';

COMMENT ON COLUMN remand.dead_letter_deltas.dead_queue IS 'where they lie';

COMMENT ON COLUMN remand.dead_letter_deltas.reason IS 'why they were opened';

COMMENT ON COLUMN remand.dead_letter_deltas.category IS 'of their failures';

COMMENT ON COLUMN remand.dead_letter_deltas.policy IS 'of their failures';

COMMENT ON COLUMN remand.dead_letter_deltas.status IS 'which they came into, or left';

COMMENT ON COLUMN remand.dead_letter_deltas.amount IS 'letters; negative: they left it';

COMMENT ON COLUMN remand.dead_letter_deltas.closed_seconds IS 'sum of the seconds from opened to closed, of those just closed';

COMMENT ON COLUMN remand.dead_letter_deltas.opened IS 'letters just opened';

COMMENT ON COLUMN remand.dead_letter_deltas.closed IS 'letters just closed';

COMMENT ON COLUMN remand.dead_letter_deltas.returned IS 'of those opened: their step had one before';

CREATE TABLE remand.dead_letter_counts (
  namespace TEXT NOT NULL,
  template TEXT NOT NULL,
  dead_queue TEXT NOT NULL,
  reason TEXT NOT NULL,
  category TEXT NOT NULL,
  policy TEXT NOT NULL,
  status TEXT NOT NULL,
  now BIGINT NOT NULL,
  ever BIGINT NOT NULL,
  closed_seconds FLOAT NOT NULL,
  opened BIGINT DEFAULT 0 NOT NULL,
  closed BIGINT DEFAULT 0 NOT NULL,
  returned BIGINT DEFAULT 0 NOT NULL,
  PRIMARY KEY (namespace, template, dead_queue, reason, category, policy, status)
);

COMMENT ON TABLE remand.dead_letter_counts IS 'Letters, counted.';

COMMENT ON COLUMN remand.dead_letter_counts.namespace IS 'of the template';

COMMENT ON COLUMN remand.dead_letter_counts.template IS 'name of the template';

COMMENT ON COLUMN remand.dead_letter_counts.dead_queue IS 'where they lie';

COMMENT ON COLUMN remand.dead_letter_counts.reason IS 'why they were opened';

COMMENT ON COLUMN remand.dead_letter_counts.category IS 'of their failures';

COMMENT ON COLUMN remand.dead_letter_counts.policy IS 'of their failures';

COMMENT ON COLUMN remand.dead_letter_counts.status IS 'in which they are';

COMMENT ON COLUMN remand.dead_letter_counts.now IS 'letters in it now';

COMMENT ON COLUMN remand.dead_letter_counts.ever IS 'times a letter came into it';

COMMENT ON COLUMN remand.dead_letter_counts.closed_seconds IS 'sum of the seconds from opened to closed, of those closed into it';

COMMENT ON COLUMN remand.dead_letter_counts.opened IS 'letters opened in it, ever; moving them counts none';

COMMENT ON COLUMN remand.dead_letter_counts.closed IS 'letters closed into it, ever; moving them counts none';

COMMENT ON COLUMN remand.dead_letter_counts.returned IS 'of those opened: their step had one before';

CREATE TABLE remand.dead_letter_hours (
  group_id UUID NOT NULL,
  hour TIMESTAMP WITH TIME ZONE NOT NULL,
  opened INTEGER NOT NULL,
  PRIMARY KEY (group_id, hour)
);

CREATE INDEX dead_letter_hours_by_hour ON remand.dead_letter_hours (hour);

COMMENT ON TABLE remand.dead_letter_hours IS 'Letters opened by group and hour: the trend.';

COMMENT ON COLUMN remand.dead_letter_hours.group_id IS 'dead_letter_groups.id';

COMMENT ON COLUMN remand.dead_letter_hours.hour IS 'start of the hour';

COMMENT ON COLUMN remand.dead_letter_hours.opened IS 'letters opened in it';

CREATE TABLE remand.notifications (
  id UUID NOT NULL,
  target TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  occurrence TEXT DEFAULT '' NOT NULL,
  payload JSONB NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  message_id UUID,
  state TEXT DEFAULT 'pending' NOT NULL,
  due_at TIMESTAMP WITH TIME ZONE NOT NULL,
  attempts INTEGER DEFAULT 0 NOT NULL,
  last_error TEXT,
  sent_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT kind_known CHECK (kind IN ('workflow_stale_soon', 'workflow_stale', 'dead_letter_opened', 'group_opened', 'group_grew', 'group_reopened', 'breaker_opened', 'redrive_stopped', 'sweep_failing', 'partition_missing')),
  CONSTRAINT notifications_once UNIQUE (target, kind, subject_id, occurrence),
  CONSTRAINT sent_in_a_message CHECK (state <> 'sent' OR message_id IS NOT NULL),
  CONSTRAINT sent_when CHECK ((sent_at IS NOT NULL) = (state = 'sent')),
  CONSTRAINT state_known CHECK (state IN ('pending', 'sent', 'given_up'))
);

CREATE INDEX notifications_by_age ON remand.notifications (created_at);

CREATE INDEX notifications_by_state ON remand.notifications (state, id);

CREATE INDEX notifications_due ON remand.notifications (target, due_at, id) WHERE state = 'pending';

CREATE INDEX notifications_of_message ON remand.notifications (message_id) WHERE message_id IS NOT NULL;

COMMENT ON TABLE remand.notifications IS 'An outbox: one row for each notice and target, written in the transaction of the fact.';

COMMENT ON COLUMN remand.notifications.id IS 'UUIDv7';

COMMENT ON COLUMN remand.notifications.target IS 'name of a target in the settings';

COMMENT ON COLUMN remand.notifications.kind IS 'what it is about, a kind of notice';

COMMENT ON COLUMN remand.notifications.subject_id IS 'id or name of what it is about';

COMMENT ON COLUMN remand.notifications.occurrence IS 'tells one time from the next';

COMMENT ON COLUMN remand.notifications.payload IS 'title, facts and link, redacted';

COMMENT ON COLUMN remand.notifications.created_at IS 'when it was enqueued';

COMMENT ON COLUMN remand.notifications.message_id IS 'the message it went into; null: in none yet';

COMMENT ON COLUMN remand.notifications.state IS 'pending, sent or given_up';

COMMENT ON COLUMN remand.notifications.due_at IS 'pending: when it is next sent; a claim moves it on as its lease';

COMMENT ON COLUMN remand.notifications.attempts IS 'times its message was sent or tried';

COMMENT ON COLUMN remand.notifications.last_error IS 'why the last try failed, redacted';

COMMENT ON COLUMN remand.notifications.sent_at IS 'when the target took it';

CREATE TABLE remand.notification_targets (
  name TEXT NOT NULL,
  next_at TIMESTAMP WITH TIME ZONE NOT NULL,
  failures INTEGER DEFAULT 0 NOT NULL,
  sent_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (name)
);

COMMENT ON TABLE remand.notification_targets IS 'How the targets of notices fare; who sends to one holds its row.';

COMMENT ON COLUMN remand.notification_targets.name IS 'name of a target in the settings';

COMMENT ON COLUMN remand.notification_targets.next_at IS 'not before then is anything sent to it';

COMMENT ON COLUMN remand.notification_targets.failures IS 'tries that failed in a row';

COMMENT ON COLUMN remand.notification_targets.sent_at IS 'when it last took a message; null: never';

CREATE TABLE remand.run_queue (
  workflow_id UUID NOT NULL,
  step TEXT NOT NULL,
  phase TEXT NOT NULL,
  queue TEXT NOT NULL,
  namespace TEXT NOT NULL,
  dependency TEXT NOT NULL,
  gate TEXT,
  priority SMALLINT NOT NULL,
  due_at TIMESTAMP WITH TIME ZONE NOT NULL,
  attempt INTEGER NOT NULL,
  suspect BOOLEAN DEFAULT false NOT NULL,
  worker UUID,
  pid INTEGER,
  lease_until TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (workflow_id, step),
  CONSTRAINT claimed_means_lease CHECK ((phase = 'claimed') = (lease_until IS NOT NULL)),
  CONSTRAINT claimed_means_worker CHECK ((phase IN ('claimed', 'settling')) = (worker IS NOT NULL)),
  CONSTRAINT gate_known CHECK (gate IN ('held', 'passed')),
  CONSTRAINT held_means_waiting CHECK (gate <> 'held' OR phase = 'waiting'),
  CONSTRAINT phase_known CHECK (phase IN ('ready', 'claimed', 'failed', 'waiting', 'settling'))
)
 WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 0.2);

CREATE INDEX run_queue_by_dependency ON remand.run_queue (dependency) WHERE phase = 'ready' AND gate IS NULL;

CREATE INDEX run_queue_failed ON remand.run_queue (queue, due_at) WHERE phase = 'failed';

CREATE INDEX run_queue_gated ON remand.run_queue (dependency, gate, priority DESC, due_at) WHERE gate IS NOT NULL;

CREATE INDEX run_queue_held ON remand.run_queue (worker, lease_until) WHERE phase IN ('claimed', 'settling');

CREATE INDEX run_queue_ready ON remand.run_queue (queue, namespace, priority DESC, due_at) WHERE phase = 'ready';

CREATE INDEX run_queue_waiting ON remand.run_queue (due_at) WHERE phase = 'waiting' AND gate IS NULL;

COMMENT ON TABLE remand.run_queue IS 'One row per live step: small and hot; every scan of live work reads this table only.';

COMMENT ON COLUMN remand.run_queue.workflow_id IS 'workflows.id';

COMMENT ON COLUMN remand.run_queue.step IS 'step name';

COMMENT ON COLUMN remand.run_queue.phase IS 'ready, claimed, failed, waiting or settling';

COMMENT ON COLUMN remand.run_queue.queue IS 'Celery queue whose workers act next';

COMMENT ON COLUMN remand.run_queue.namespace IS 'of its template: namespaces share a queue evenly';

COMMENT ON COLUMN remand.run_queue.dependency IS 'whose breaker it minds';

COMMENT ON COLUMN remand.run_queue.gate IS 'held: the breaker holds it back; passed: it let it through';

COMMENT ON COLUMN remand.run_queue.priority IS '0-9, higher first';

COMMENT ON COLUMN remand.run_queue.due_at IS 'not before this instant';

COMMENT ON COLUMN remand.run_queue.attempt IS 'number of the last attempt; the fence of every result';

COMMENT ON COLUMN remand.run_queue.suspect IS 'true: a process died holding it; it is claimed alone';

COMMENT ON COLUMN remand.run_queue.worker IS 'incarnation that holds the claim';

COMMENT ON COLUMN remand.run_queue.pid IS 'process that holds the claim';

COMMENT ON COLUMN remand.run_queue.lease_until IS 'end of the lease';

CREATE TABLE remand.pauses (
  queue TEXT NOT NULL,
  since TIMESTAMP WITH TIME ZONE NOT NULL,
  by TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (queue)
);

COMMENT ON TABLE remand.pauses IS 'Paused queues: what is in them waits and is not lost.';

COMMENT ON COLUMN remand.pauses.queue IS 'Celery queue nothing is claimed from';

COMMENT ON COLUMN remand.pauses.since IS 'when it was paused';

COMMENT ON COLUMN remand.pauses.by IS 'who paused it';

COMMENT ON COLUMN remand.pauses.reason IS 'a person''s words';

CREATE TABLE remand.template_pauses (
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  since TIMESTAMP WITH TIME ZONE NOT NULL,
  by TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (namespace, name)
);

COMMENT ON TABLE remand.template_pauses IS 'Paused templates: their workflows are accepted and wait.';

COMMENT ON COLUMN remand.template_pauses.namespace IS 'of the template';

COMMENT ON COLUMN remand.template_pauses.name IS 'of the template, all its versions';

COMMENT ON COLUMN remand.template_pauses.since IS 'when it was paused';

COMMENT ON COLUMN remand.template_pauses.by IS 'who paused it';

COMMENT ON COLUMN remand.template_pauses.reason IS 'a person''s words';

CREATE TABLE remand.workers (
  id UUID NOT NULL,
  hostname TEXT NOT NULL,
  pid INTEGER NOT NULL,
  queues TEXT[] NOT NULL,
  pool TEXT NOT NULL,
  concurrency INTEGER NOT NULL,
  version TEXT NOT NULL,
  code_version TEXT,
  lock_key BIGINT NOT NULL,
  started_at TIMESTAMP WITH TIME ZONE NOT NULL,
  heartbeat_at TIMESTAMP WITH TIME ZONE NOT NULL,
  stopped_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id)
);

CREATE INDEX workers_live ON remand.workers (heartbeat_at) WHERE stopped_at IS NULL;

CREATE INDEX workers_stopped ON remand.workers (stopped_at) WHERE stopped_at IS NOT NULL;

COMMENT ON TABLE remand.workers IS 'Worker registry: one row per start of a worker.';

COMMENT ON COLUMN remand.workers.id IS 'incarnation: new at each start';

COMMENT ON COLUMN remand.workers.hostname IS 'Celery node name';

COMMENT ON COLUMN remand.workers.pid IS 'of the main process';

COMMENT ON COLUMN remand.workers.queues IS 'queues it consumes';

COMMENT ON COLUMN remand.workers.pool IS 'Celery pool';

COMMENT ON COLUMN remand.workers.concurrency IS 'size of the pool';

COMMENT ON COLUMN remand.workers.version IS 'of Remand';

COMMENT ON COLUMN remand.workers.code_version IS 'of the users'' handlers, as they named it; null: not named';

COMMENT ON COLUMN remand.workers.lock_key IS 'advisory lock its main process holds while it lives';

COMMENT ON COLUMN remand.workers.started_at IS 'registration';

COMMENT ON COLUMN remand.workers.heartbeat_at IS 'last sign of life';

COMMENT ON COLUMN remand.workers.stopped_at IS 'when it said goodbye or was found gone';

CREATE TABLE remand.redrives (
  id UUID NOT NULL,
  state TEXT NOT NULL,
  state_since TIMESTAMP WITH TIME ZONE NOT NULL,
  verb TEXT NOT NULL,
  selection JSONB NOT NULL,
  described TEXT NOT NULL,
  planned_at TIMESTAMP WITH TIME ZONE NOT NULL,
  planned_by TEXT NOT NULL,
  started_at TIMESTAMP WITH TIME ZONE,
  started_by TEXT,
  via TEXT,
  reason TEXT,
  ended_at TIMESTAMP WITH TIME ZONE,
  stop_reason TEXT,
  include_claimed BOOLEAN NOT NULL,
  queue TEXT,
  priority SMALLINT,
  rate_per_second FLOAT,
  paced_at TIMESTAMP WITH TIME ZONE,
  not_before TIMESTAMP WITH TIME ZONE,
  code_version TEXT,
  canary INTEGER[] NOT NULL,
  success_share FLOAT NOT NULL,
  stage INTEGER DEFAULT 0 NOT NULL,
  stage_sent INTEGER DEFAULT 0 NOT NULL,
  stage_succeeded INTEGER DEFAULT 0 NOT NULL,
  stage_failed INTEGER DEFAULT 0 NOT NULL,
  sent_at TIMESTAMP WITH TIME ZONE,
  followed INTEGER DEFAULT 0 NOT NULL,
  total INTEGER DEFAULT 0 NOT NULL,
  waiting INTEGER DEFAULT 0 NOT NULL,
  sent INTEGER DEFAULT 0 NOT NULL,
  succeeded INTEGER DEFAULT 0 NOT NULL,
  failed INTEGER DEFAULT 0 NOT NULL,
  skipped INTEGER DEFAULT 0 NOT NULL,
  not_found INTEGER DEFAULT 0 NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT ended_means_over CHECK ((ended_at IS NOT NULL) = (state IN ('finished', 'cancelled'))),
  CONSTRAINT every_letter_counted CHECK (total = waiting + sent + succeeded + failed + skipped + not_found),
  CONSTRAINT priority_range CHECK (priority BETWEEN 0 AND 9),
  CONSTRAINT rate_is_positive CHECK (rate_per_second > 0),
  CONSTRAINT share_is_a_share CHECK (success_share > 0 AND success_share <= 1),
  CONSTRAINT started_by_whom CHECK ((started_at IS NULL) = (started_by IS NULL)),
  CONSTRAINT state_known CHECK (state IN ('planned', 'pending', 'canary', 'running', 'paused', 'stopped', 'cancelled', 'finished')),
  CONSTRAINT verb_known CHECK (verb IN ('requeue', 'resolve', 'cancel', 'give_up'))
);

CREATE INDEX redrives_ended ON remand.redrives (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX redrives_moving ON remand.redrives (id) WHERE state IN ('planned', 'pending', 'canary', 'running');

COMMENT ON TABLE remand.redrives IS 'Decisions about many dead letters: durable orders that sweeps carry out.';

COMMENT ON COLUMN remand.redrives.id IS 'UUIDv7';

COMMENT ON COLUMN remand.redrives.state IS 'planned, pending, canary, running, paused, stopped, cancelled or finished';

COMMENT ON COLUMN remand.redrives.state_since IS 'instant of the last move';

COMMENT ON COLUMN remand.redrives.verb IS 'what is done with each letter';

COMMENT ON COLUMN remand.redrives.selection IS 'the filter as given';

COMMENT ON COLUMN remand.redrives.described IS 'the filter in words';

COMMENT ON COLUMN remand.redrives.planned_at IS 'when the set was fixed';

COMMENT ON COLUMN remand.redrives.planned_by IS 'who fixed it';

COMMENT ON COLUMN remand.redrives.started_at IS 'when it was started; null: not yet';

COMMENT ON COLUMN remand.redrives.started_by IS 'who started it: acts on the letters';

COMMENT ON COLUMN remand.redrives.via IS 'the door it was started through';

COMMENT ON COLUMN remand.redrives.reason IS 'why, in a person''s words';

COMMENT ON COLUMN remand.redrives.ended_at IS 'when it was finished or cancelled';

COMMENT ON COLUMN remand.redrives.stop_reason IS 'why it stands still or was cancelled';

COMMENT ON COLUMN remand.redrives.include_claimed IS 'true: letters that others have claimed, too';

COMMENT ON COLUMN remand.redrives.queue IS 'where the failed steps run; null: their own';

COMMENT ON COLUMN remand.redrives.priority IS '0-9 for the failed steps; null: their own';

COMMENT ON COLUMN remand.redrives.rate_per_second IS 'letters a second; null: not limited';

COMMENT ON COLUMN remand.redrives.paced_at IS 'up to when its rate is used up';

COMMENT ON COLUMN remand.redrives.not_before IS 'it begins no earlier';

COMMENT ON COLUMN remand.redrives.code_version IS 'it begins once every live worker runs it';

COMMENT ON COLUMN remand.redrives.canary IS 'letters sent one stage after the other before the rest';

COMMENT ON COLUMN remand.redrives.success_share IS 'share of a canary that must succeed';

COMMENT ON COLUMN remand.redrives.stage IS 'canary under way, from 0; all of them done: the rest';

COMMENT ON COLUMN remand.redrives.stage_sent IS 'letters sent in this stage';

COMMENT ON COLUMN remand.redrives.stage_succeeded IS 'of them succeeded';

COMMENT ON COLUMN remand.redrives.stage_failed IS 'of them failed';

COMMENT ON COLUMN remand.redrives.sent_at IS 'when letters were sent last';

COMMENT ON COLUMN remand.redrives.followed IS 'position behind which outcomes are looked for next';

COMMENT ON COLUMN remand.redrives.total IS 'letters of the set';

COMMENT ON COLUMN remand.redrives.waiting IS 'not sent yet';

COMMENT ON COLUMN remand.redrives.sent IS 'sent, outcome not known yet';

COMMENT ON COLUMN remand.redrives.succeeded IS 'what had failed went well';

COMMENT ON COLUMN remand.redrives.failed IS 'failed again';

COMMENT ON COLUMN remand.redrives.skipped IS 'left alone, with a reason';

COMMENT ON COLUMN remand.redrives.not_found IS 'no such letter';

CREATE TABLE remand.idempotency_keys (
  caller TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  seed UUID NOT NULL,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  busy_until TIMESTAMP WITH TIME ZONE NOT NULL,
  status SMALLINT,
  answer JSONB,
  PRIMARY KEY (caller, key)
);

CREATE INDEX idempotency_keys_by_age ON remand.idempotency_keys (at);

COMMENT ON TABLE remand.idempotency_keys IS 'Requests that carried an Idempotency-Key, with their answers.';

COMMENT ON COLUMN remand.idempotency_keys.caller IS 'who sent it: keys of different callers do not meet';

COMMENT ON COLUMN remand.idempotency_keys.key IS 'as sent';

COMMENT ON COLUMN remand.idempotency_keys.fingerprint IS 'SHA-256 of method, path and body, hex';

COMMENT ON COLUMN remand.idempotency_keys.seed IS 'id of what the request makes: one that was cut off makes the same again';

COMMENT ON COLUMN remand.idempotency_keys.at IS 'when it came first; a day later it is forgotten';

COMMENT ON COLUMN remand.idempotency_keys.busy_until IS 'until when whoever acts on it is trusted to';

COMMENT ON COLUMN remand.idempotency_keys.status IS 'HTTP status of the answer; null: there is none yet';

COMMENT ON COLUMN remand.idempotency_keys.answer IS 'its body';

CREATE TABLE remand.sweep_figures (
  sweep TEXT NOT NULL,
  figure TEXT NOT NULL,
  amount BIGINT NOT NULL,
  PRIMARY KEY (sweep, figure)
);

COMMENT ON TABLE remand.sweep_figures IS 'What each sweep did, since ever: never pruned, so that counters never go back.';

COMMENT ON COLUMN remand.sweep_figures.sweep IS 'its name, as beat rings it';

COMMENT ON COLUMN remand.sweep_figures.figure IS 'what was counted: a figure of what the sweep returns';

COMMENT ON COLUMN remand.sweep_figures.amount IS 'how much of it, since ever';

CREATE TABLE remand.staleness_settings (
  single BOOLEAN NOT NULL,
  settings JSONB NOT NULL,
  PRIMARY KEY (single),
  CONSTRAINT one_row CHECK (single)
);

COMMENT ON TABLE remand.staleness_settings IS 'What the stale sweep goes by, so that the view staleness_monitoring goes by the same.';

COMMENT ON COLUMN remand.staleness_settings.single IS 'true: there is one row';

COMMENT ON COLUMN remand.staleness_settings.settings IS '`[staleness]`, and when a worker counts as gone';

CREATE TABLE remand.sweep_runs (
  name TEXT NOT NULL,
  last_started_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_success_at TIMESTAMP WITH TIME ZONE,
  last_duration_seconds FLOAT NOT NULL,
  last_moved INTEGER DEFAULT '0' NOT NULL,
  last_moved_at TIMESTAMP WITH TIME ZONE,
  failures_in_a_row INTEGER DEFAULT '0' NOT NULL,
  failing_since TIMESTAMP WITH TIME ZONE,
  last_failed_at TIMESTAMP WITH TIME ZONE,
  last_error TEXT,
  last_error_message TEXT,
  runs BIGINT DEFAULT '0' NOT NULL,
  failures BIGINT DEFAULT '0' NOT NULL,
  moved BIGINT DEFAULT '0' NOT NULL,
  worker UUID NOT NULL,
  PRIMARY KEY (name)
)
 WITH (fillfactor = 50);

COMMENT ON TABLE remand.sweep_runs IS 'One row a sweep, written a few times a minute at most while nothing moves: no log of runs.';

COMMENT ON COLUMN remand.sweep_runs.name IS 'of the sweep, as beat rings it';

COMMENT ON COLUMN remand.sweep_runs.last_started_at IS 'begin of the last run that was noted';

COMMENT ON COLUMN remand.sweep_runs.last_success_at IS 'end of the last run that went well; null: none did';

COMMENT ON COLUMN remand.sweep_runs.last_duration_seconds IS 'of the last run that was noted';

COMMENT ON COLUMN remand.sweep_runs.last_moved IS 'rows the last run that moved any has moved';

COMMENT ON COLUMN remand.sweep_runs.last_moved_at IS 'when that was; null: none moved any';

COMMENT ON COLUMN remand.sweep_runs.failures_in_a_row IS 'runs that failed since one went well';

COMMENT ON COLUMN remand.sweep_runs.failing_since IS 'when the first of them failed; null: none did';

COMMENT ON COLUMN remand.sweep_runs.last_failed_at IS 'when a run last failed; null: none did';

COMMENT ON COLUMN remand.sweep_runs.last_error IS 'class of the last failure';

COMMENT ON COLUMN remand.sweep_runs.last_error_message IS 'of the last failure, secrets masked';

COMMENT ON COLUMN remand.sweep_runs.runs IS 'runs that ended, since ever';

COMMENT ON COLUMN remand.sweep_runs.failures IS 'of them those that failed';

COMMENT ON COLUMN remand.sweep_runs.moved IS 'rows they moved, since ever';

COMMENT ON COLUMN remand.sweep_runs.worker IS 'incarnation that noted last';

CREATE TABLE remand.transition_rule (
  kind TEXT NOT NULL,
  from_state TEXT NOT NULL,
  event TEXT NOT NULL,
  to_state TEXT NOT NULL,
  PRIMARY KEY (kind, from_state, event, to_state)
);

COMMENT ON TABLE remand.transition_rule IS 'Every legal move; seeded from the domain''s tables. history points here.';

COMMENT ON COLUMN remand.transition_rule.kind IS 'workflow, step or breaker';

COMMENT ON COLUMN remand.transition_rule.from_state IS 'state before the move';

COMMENT ON COLUMN remand.transition_rule.event IS 'why it moves';

COMMENT ON COLUMN remand.transition_rule.to_state IS 'state after the move';

CREATE TABLE remand.templates (
  id SERIAL NOT NULL,
  namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  definition JSONB NOT NULL,
  hash TEXT NOT NULL,
  on_failure TEXT NOT NULL,
  expire_after_seconds FLOAT,
  lifecycle JSONB DEFAULT '{}' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (namespace, name, version),
  CONSTRAINT on_failure_known CHECK (on_failure IN ('finish_branches', 'fail_fast'))
);

COMMENT ON TABLE remand.templates IS 'Published workflow templates.';

COMMENT ON COLUMN remand.templates.id IS 'key';

COMMENT ON COLUMN remand.templates.namespace IS 'owner of the name';

COMMENT ON COLUMN remand.templates.name IS 'name within the namespace';

COMMENT ON COLUMN remand.templates.version IS 'a published version never changes';

COMMENT ON COLUMN remand.templates.definition IS 'the template as published, canonical';

COMMENT ON COLUMN remand.templates.hash IS 'SHA-256 of the canonical definition, hex';

COMMENT ON COLUMN remand.templates.on_failure IS 'finish_branches or fail_fast';

COMMENT ON COLUMN remand.templates.expire_after_seconds IS 'age at which its workflows expire; null: never';

COMMENT ON COLUMN remand.templates.lifecycle IS 'how long its workflows may show no sign of life; what is left out: the setting';

COMMENT ON COLUMN remand.templates.created_at IS 'when it was published';

CREATE TABLE remand.sessions (
  token_hash BYTEA NOT NULL,
  user_id UUID,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  address TEXT,
  PRIMARY KEY (token_hash),
  CONSTRAINT sessions_role CHECK (role IN ('viewer', 'operator', 'admin')),
  CONSTRAINT sessions_user FOREIGN KEY(user_id) REFERENCES remand.users (id) ON DELETE CASCADE
);

CREATE INDEX sessions_by_end ON remand.sessions (expires_at);

CREATE INDEX sessions_by_user ON remand.sessions (user_id);

COMMENT ON TABLE remand.sessions IS 'Who is signed in to the dashboard.';

COMMENT ON COLUMN remand.sessions.token_hash IS 'SHA-256 of what the cookie holds';

COMMENT ON COLUMN remand.sessions.user_id IS 'whose it is; null: opened by a link';

COMMENT ON COLUMN remand.sessions.name IS 'who it is';

COMMENT ON COLUMN remand.sessions.role IS 'what they may do; that of a user counts, where there is one';

COMMENT ON COLUMN remand.sessions.created_at IS 'when they signed in';

COMMENT ON COLUMN remand.sessions.seen_at IS 'when it was last used; written at most once a minute';

COMMENT ON COLUMN remand.sessions.expires_at IS 'when it ends, used or not';

COMMENT ON COLUMN remand.sessions.address IS 'from where they signed in';

CREATE TABLE remand.history (
  workflow_id UUID NOT NULL,
  seq BIGINT DEFAULT nextval('remand.history_seq') NOT NULL,
  kind TEXT NOT NULL,
  step TEXT,
  from_state TEXT NOT NULL,
  event TEXT NOT NULL,
  to_state TEXT NOT NULL,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  by TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (workflow_id, seq),
  CONSTRAINT history_legal_move FOREIGN KEY(kind, from_state, event, to_state) REFERENCES remand.transition_rule (kind, from_state, event, to_state),
  CONSTRAINT step_named CHECK ((kind = 'workflow') = (step IS NULL))
)
 PARTITION BY RANGE (workflow_id);

COMMENT ON TABLE remand.history IS 'Moves off the straight road; view moves has every move.';

COMMENT ON COLUMN remand.history.workflow_id IS 'workflows.id, partition key';

COMMENT ON COLUMN remand.history.seq IS 'order of the moves';

COMMENT ON COLUMN remand.history.kind IS 'workflow or step';

COMMENT ON COLUMN remand.history.step IS 'step name; null: the workflow itself';

COMMENT ON COLUMN remand.history.from_state IS 'state before the move';

COMMENT ON COLUMN remand.history.event IS 'why it moved';

COMMENT ON COLUMN remand.history.to_state IS 'state after the move';

COMMENT ON COLUMN remand.history.at IS 'when it moved';

COMMENT ON COLUMN remand.history.by IS 'who or what moved it';

COMMENT ON COLUMN remand.history.reason IS 'a person''s words';

CREATE TABLE remand.history_archive (
  workflow_id UUID NOT NULL,
  seq BIGINT DEFAULT nextval('remand.history_seq') NOT NULL,
  kind TEXT NOT NULL,
  step TEXT,
  from_state TEXT NOT NULL,
  event TEXT NOT NULL,
  to_state TEXT NOT NULL,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  by TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (workflow_id, seq),
  CONSTRAINT history_legal_move FOREIGN KEY(kind, from_state, event, to_state) REFERENCES remand.transition_rule (kind, from_state, event, to_state),
  CONSTRAINT step_named CHECK ((kind = 'workflow') = (step IS NULL))
)
 PARTITION BY RANGE (workflow_id);

COMMENT ON TABLE remand.history_archive IS 'Moves of archived workflows off the straight road. Read-only.';

COMMENT ON COLUMN remand.history_archive.workflow_id IS 'workflows.id, partition key';

COMMENT ON COLUMN remand.history_archive.seq IS 'order of the moves';

COMMENT ON COLUMN remand.history_archive.kind IS 'workflow or step';

COMMENT ON COLUMN remand.history_archive.step IS 'step name; null: the workflow itself';

COMMENT ON COLUMN remand.history_archive.from_state IS 'state before the move';

COMMENT ON COLUMN remand.history_archive.event IS 'why it moved';

COMMENT ON COLUMN remand.history_archive.to_state IS 'state after the move';

COMMENT ON COLUMN remand.history_archive.at IS 'when it moved';

COMMENT ON COLUMN remand.history_archive.by IS 'who or what moved it';

COMMENT ON COLUMN remand.history_archive.reason IS 'a person''s words';

CREATE TABLE remand.breaker_moves (
  name TEXT NOT NULL,
  seq BIGINT DEFAULT nextval('remand.history_seq') NOT NULL,
  kind TEXT DEFAULT 'breaker' NOT NULL,
  from_state TEXT NOT NULL,
  event TEXT NOT NULL,
  to_state TEXT NOT NULL,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  by TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (name, seq),
  CONSTRAINT breaker_legal_move FOREIGN KEY(kind, from_state, event, to_state) REFERENCES remand.transition_rule (kind, from_state, event, to_state),
  CONSTRAINT kind_breaker CHECK (kind = 'breaker')
);

CREATE INDEX breaker_moves_by_age ON remand.breaker_moves (at);

COMMENT ON TABLE remand.breaker_moves IS 'Every move of every breaker.';

COMMENT ON COLUMN remand.breaker_moves.name IS 'breakers.name';

COMMENT ON COLUMN remand.breaker_moves.seq IS 'order of the moves';

COMMENT ON COLUMN remand.breaker_moves.kind IS 'always breaker';

COMMENT ON COLUMN remand.breaker_moves.from_state IS 'state before the move';

COMMENT ON COLUMN remand.breaker_moves.event IS 'why it moved';

COMMENT ON COLUMN remand.breaker_moves.to_state IS 'state after the move';

COMMENT ON COLUMN remand.breaker_moves.at IS 'when it moved';

COMMENT ON COLUMN remand.breaker_moves.by IS 'who or what moved it';

COMMENT ON COLUMN remand.breaker_moves.reason IS 'the figures, or a person''s words';

CREATE TABLE remand.queue_settings (
  queue TEXT NOT NULL,
  dead_queue TEXT,
  expire_after_seconds FLOAT,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  by TEXT NOT NULL,
  PRIMARY KEY (queue),
  FOREIGN KEY(dead_queue) REFERENCES remand.dead_queues (name),
  CONSTRAINT expiry_is_positive CHECK (expire_after_seconds > 0),
  CONSTRAINT not_itself CHECK (dead_queue <> queue)
);

COMMENT ON TABLE remand.queue_settings IS 'What is set for a plain queue.';

COMMENT ON COLUMN remand.queue_settings.queue IS 'Celery queue of steps';

COMMENT ON COLUMN remand.queue_settings.dead_queue IS 'where letters of its steps go unless their template says';

COMMENT ON COLUMN remand.queue_settings.expire_after_seconds IS 'age at which its steps'' workflows expire';

COMMENT ON COLUMN remand.queue_settings.at IS 'when it was set';

COMMENT ON COLUMN remand.queue_settings.by IS 'who set it';

CREATE TABLE remand.dead_letters (
  id UUID NOT NULL,
  workflow_id UUID NOT NULL,
  source TEXT NOT NULL,
  source_id TEXT NOT NULL,
  namespace TEXT NOT NULL,
  template TEXT NOT NULL,
  version TEXT NOT NULL,
  step TEXT NOT NULL,
  handler TEXT NOT NULL,
  queue TEXT NOT NULL,
  dead_queue TEXT NOT NULL,
  group_id UUID NOT NULL,
  attempts INTEGER NOT NULL,
  reason TEXT NOT NULL,
  category TEXT NOT NULL,
  policy TEXT NOT NULL,
  rule TEXT NOT NULL,
  error_class TEXT NOT NULL,
  error_message TEXT NOT NULL,
  worker TEXT NOT NULL,
  status TEXT NOT NULL,
  opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
  triage_at TIMESTAMP WITH TIME ZONE NOT NULL,
  claimed_by TEXT,
  claimed_at TIMESTAMP WITH TIME ZONE,
  closed_by TEXT,
  closed_at TIMESTAMP WITH TIME ZONE,
  resolution TEXT,
  labels TEXT[] DEFAULT '{}' NOT NULL,
  links TEXT[] DEFAULT '{}' NOT NULL,
  follows UUID,
  requeues INTEGER DEFAULT 0 NOT NULL,
  requeue_at TIMESTAMP WITH TIME ZONE,
  snapshot JSONB NOT NULL,
  metadata JSONB DEFAULT '{}'::jsonb NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (source, source_id),
  FOREIGN KEY(group_id) REFERENCES remand.dead_letter_groups (id),
  FOREIGN KEY(dead_queue) REFERENCES remand.dead_queues (name),
  CONSTRAINT category_known CHECK (category IN ('transient', 'network', 'resource', 'permission', 'validation', 'permanent')),
  CONSTRAINT claimed_by_whom CHECK (status <> 'investigating' OR claimed_by IS NOT NULL),
  CONSTRAINT closed_by_whom CHECK ((closed_at IS NULL) = (closed_by IS NULL)),
  CONSTRAINT closed_means_closed_at CHECK ((closed_at IS NOT NULL) = (status NOT IN ('pending', 'investigating'))),
  CONSTRAINT reason_known CHECK (reason IN ('permanent_failure', 'max_retries_exceeded', 'staleness_timeout', 'expired', 'worker_unavailable', 'worker_lost', 'dependency_cycle_detected', 'manual_dlq')),
  CONSTRAINT requeued_means_open CHECK (requeue_at IS NULL OR closed_at IS NULL),
  CONSTRAINT status_known CHECK (status IN ('pending', 'investigating', 'requeued', 'manually_resolved', 'permanently_failed', 'cancelled'))
);

CREATE INDEX dead_letters_by_group ON remand.dead_letters (group_id, id DESC);

CREATE INDEX dead_letters_by_status ON remand.dead_letters (status, id DESC);

CREATE INDEX dead_letters_by_workflow ON remand.dead_letters (workflow_id);

CREATE INDEX dead_letters_claimed ON remand.dead_letters (claimed_by, id DESC) WHERE status = 'investigating';

CREATE INDEX dead_letters_closed ON remand.dead_letters (closed_at) WHERE closed_at IS NOT NULL;

CREATE INDEX dead_letters_open ON remand.dead_letters (id DESC) WHERE status IN ('pending', 'investigating');

CREATE INDEX dead_letters_open_by_class ON remand.dead_letters (error_class, id DESC) WHERE status IN ('pending', 'investigating');

CREATE INDEX dead_letters_open_by_dead_queue ON remand.dead_letters (dead_queue, id DESC) WHERE status IN ('pending', 'investigating');

CREATE INDEX dead_letters_open_by_group ON remand.dead_letters (group_id, id DESC) WHERE status IN ('pending', 'investigating');

CREATE INDEX dead_letters_open_by_reason ON remand.dead_letters (reason, id DESC) WHERE status IN ('pending', 'investigating');

CREATE INDEX dead_letters_open_by_template ON remand.dead_letters (template, namespace, id DESC) WHERE status IN ('pending', 'investigating');

CREATE INDEX dead_letters_to_requeue ON remand.dead_letters (requeue_at) WHERE requeue_at IS NOT NULL;

CREATE INDEX dead_letters_triage ON remand.dead_letters (triage_at, id) WHERE status IN ('pending', 'investigating');

CREATE UNIQUE INDEX dead_letters_one_open ON remand.dead_letters (workflow_id) WHERE status IN ('pending', 'investigating');

COMMENT ON TABLE remand.dead_letters IS 'One investigation per row: what happened, in which state, who looks at it, how it was resolved.';

COMMENT ON COLUMN remand.dead_letters.id IS 'UUIDv7';

COMMENT ON COLUMN remand.dead_letters.workflow_id IS 'the workflow; no foreign key: the letter outlives its archive';

COMMENT ON COLUMN remand.dead_letters.source IS 'what kind of thing died';

COMMENT ON COLUMN remand.dead_letters.source_id IS 'its identity: moving the same thing twice is a no-op';

COMMENT ON COLUMN remand.dead_letters.namespace IS 'of the template';

COMMENT ON COLUMN remand.dead_letters.template IS 'name of the template';

COMMENT ON COLUMN remand.dead_letters.version IS 'version of the template';

COMMENT ON COLUMN remand.dead_letters.step IS 'step whose failure opened it';

COMMENT ON COLUMN remand.dead_letters.handler IS 'its handler';

COMMENT ON COLUMN remand.dead_letters.queue IS 'its queue';

COMMENT ON COLUMN remand.dead_letters.dead_queue IS 'where the letter lies';

COMMENT ON COLUMN remand.dead_letters.group_id IS 'letters with the same cause';

COMMENT ON COLUMN remand.dead_letters.attempts IS 'attempts made';

COMMENT ON COLUMN remand.dead_letters.reason IS 'why it was opened';

COMMENT ON COLUMN remand.dead_letters.category IS 'classification of the last failure';

COMMENT ON COLUMN remand.dead_letters.policy IS 'retry policy the last failure was routed by';

COMMENT ON COLUMN remand.dead_letters.rule IS 'rule that classified it';

COMMENT ON COLUMN remand.dead_letters.error_class IS 'qualified class of the last failure';

COMMENT ON COLUMN remand.dead_letters.error_message IS 'its message, redacted';

COMMENT ON COLUMN remand.dead_letters.worker IS 'node name of the worker that saw it last';

COMMENT ON COLUMN remand.dead_letters.status IS 'how the investigation stands';

COMMENT ON COLUMN remand.dead_letters.opened_at IS 'when the failure became terminal';

COMMENT ON COLUMN remand.dead_letters.triage_at IS 'opened_at less the weight of its reason: the triage queue is in this order';

COMMENT ON COLUMN remand.dead_letters.claimed_by IS 'who looks at it';

COMMENT ON COLUMN remand.dead_letters.claimed_at IS 'since when';

COMMENT ON COLUMN remand.dead_letters.closed_by IS 'who closed it';

COMMENT ON COLUMN remand.dead_letters.closed_at IS 'when';

COMMENT ON COLUMN remand.dead_letters.resolution IS 'how it was resolved, in a person''s words';

COMMENT ON COLUMN remand.dead_letters.labels IS 'words of people, each once';

COMMENT ON COLUMN remand.dead_letters.links IS 'addresses of tickets, deploys, pages';

COMMENT ON COLUMN remand.dead_letters.follows IS 'the letter before it of the same step';

COMMENT ON COLUMN remand.dead_letters.requeues IS 'automatic requeues of this step so far';

COMMENT ON COLUMN remand.dead_letters.requeue_at IS 'when it goes back by itself; null: it does not';

COMMENT ON COLUMN remand.dead_letters.snapshot IS 'workflow, steps, attempts, last moves at that moment; redacted, size capped';

COMMENT ON COLUMN remand.dead_letters.metadata IS 'merged, never replaced';

CREATE TABLE remand.redrive_items (
  redrive_id UUID NOT NULL,
  position INTEGER NOT NULL,
  letter_id UUID NOT NULL,
  workflow_id UUID,
  state TEXT NOT NULL,
  reason TEXT,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  sent_at TIMESTAMP WITH TIME ZONE,
  steps TEXT[],
  new_letter_id UUID,
  PRIMARY KEY (redrive_id, position),
  UNIQUE (redrive_id, letter_id),
  FOREIGN KEY(redrive_id) REFERENCES remand.redrives (id) ON DELETE CASCADE,
  CONSTRAINT not_found_has_no_workflow CHECK ((state = 'not_found') = (workflow_id IS NULL)),
  CONSTRAINT sent_when CHECK (state NOT IN ('sent', 'succeeded', 'failed') OR sent_at IS NOT NULL),
  CONSTRAINT state_known CHECK (state IN ('waiting', 'sent', 'succeeded', 'failed', 'skipped', 'not_found'))
);

CREATE INDEX redrive_items_failed ON remand.redrive_items (redrive_id, position) WHERE state = 'failed';

CREATE INDEX redrive_items_sent ON remand.redrive_items (redrive_id, position) WHERE state = 'sent';

CREATE INDEX redrive_items_waiting ON remand.redrive_items (redrive_id, position) WHERE state = 'waiting';

COMMENT ON TABLE remand.redrive_items IS 'The exact set of a redrive, fixed when it was planned, and what became of each letter.';

COMMENT ON COLUMN remand.redrive_items.redrive_id IS 'redrives.id';

COMMENT ON COLUMN remand.redrive_items.position IS 'order, from 1';

COMMENT ON COLUMN remand.redrive_items.letter_id IS 'dead_letters.id as given';

COMMENT ON COLUMN remand.redrive_items.workflow_id IS 'its workflow; null: no such letter';

COMMENT ON COLUMN remand.redrive_items.state IS 'waiting, sent, succeeded, failed, skipped or not_found';

COMMENT ON COLUMN remand.redrive_items.reason IS 'why it was skipped, how it failed';

COMMENT ON COLUMN remand.redrive_items.at IS 'instant of the last move';

COMMENT ON COLUMN remand.redrive_items.sent_at IS 'when the verb was done';

COMMENT ON COLUMN remand.redrive_items.steps IS 'steps that were sent back';

COMMENT ON COLUMN remand.redrive_items.new_letter_id IS 'the letter it failed with';

CREATE TABLE remand.template_steps (
  template_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  position INTEGER NOT NULL,
  handler TEXT NOT NULL,
  dependency TEXT NOT NULL,
  queue TEXT NOT NULL,
  priority SMALLINT,
  timeout_seconds FLOAT,
  commit_each BOOLEAN NOT NULL,
  depends_on TEXT[] NOT NULL,
  children TEXT[] NOT NULL,
  PRIMARY KEY (template_id, name),
  FOREIGN KEY(template_id) REFERENCES remand.templates (id)
);

COMMENT ON TABLE remand.template_steps IS 'The steps of a template, one row each, as submit copies them.';

COMMENT ON COLUMN remand.template_steps.template_id IS 'the template';

COMMENT ON COLUMN remand.template_steps.name IS 'step name, unique in its template';

COMMENT ON COLUMN remand.template_steps.position IS 'order in the file, from 0';

COMMENT ON COLUMN remand.template_steps.handler IS 'registered name of the handler';

COMMENT ON COLUMN remand.template_steps.dependency IS 'whose breaker it minds; its handler unless declared';

COMMENT ON COLUMN remand.template_steps.queue IS 'Celery queue whose workers run it';

COMMENT ON COLUMN remand.template_steps.priority IS '0-9, higher first; null: the workflow''s';

COMMENT ON COLUMN remand.template_steps.timeout_seconds IS 'soft timeout, seconds; null: the setting';

COMMENT ON COLUMN remand.template_steps.commit_each IS 'true: its result is committed alone and at once';

COMMENT ON COLUMN remand.template_steps.depends_on IS 'names of the parents';

COMMENT ON COLUMN remand.template_steps.children IS 'names of the steps that depend on it';

CREATE TABLE remand.dead_letter_notes (
  id UUID NOT NULL,
  dead_letter_id UUID,
  group_id UUID,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  author TEXT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(dead_letter_id) REFERENCES remand.dead_letters (id) ON DELETE CASCADE,
  FOREIGN KEY(group_id) REFERENCES remand.dead_letter_groups (id) ON DELETE CASCADE,
  CONSTRAINT of_one_thing CHECK ((dead_letter_id IS NULL) <> (group_id IS NULL))
);

CREATE INDEX dead_letter_notes_by_group ON remand.dead_letter_notes (group_id, id);

CREATE INDEX dead_letter_notes_by_letter ON remand.dead_letter_notes (dead_letter_id, id);

COMMENT ON TABLE remand.dead_letter_notes IS 'Append-only notes of an investigation, or of a group of them.';

COMMENT ON COLUMN remand.dead_letter_notes.id IS 'UUIDv7';

COMMENT ON COLUMN remand.dead_letter_notes.dead_letter_id IS 'dead_letters.id; null: a note of a group';

COMMENT ON COLUMN remand.dead_letter_notes.group_id IS 'dead_letter_groups.id; null: a note of a letter';

COMMENT ON COLUMN remand.dead_letter_notes.at IS 'when it was written';

COMMENT ON COLUMN remand.dead_letter_notes.author IS 'who wrote it; ''remand'' for the product itself';

COMMENT ON COLUMN remand.dead_letter_notes.text IS 'the note';

-- By hand from here on; above: `make schema`.
CREATE FUNCTION remand.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER dead_letter_notes_append_only BEFORE UPDATE ON remand.dead_letter_notes
  FOR EACH ROW EXECUTE FUNCTION remand.refuse_change();

CREATE TRIGGER audit_log_append_only BEFORE UPDATE ON remand.audit_log
  FOR EACH ROW EXECUTE FUNCTION remand.refuse_change();

INSERT INTO remand.dead_queues (name, description, created_at, created_by)
  VALUES ('default', 'letters whose template and queue name no other', now(), 'remand');
