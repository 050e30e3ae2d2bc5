-- What code goes on beside this schema: what reads it starts beside a revision that it does not know.
alter table remand.schema_version add column serves text[] not null default '{}';
comment on column remand.schema_version.serves is
  'the oldest code that goes on beside each revision from 0003 on; the last counts';
-- What a settle claims for its process, as `claim_v2` answers. Never changed: more columns are another type.
create type remand.claimed_step as (
  workflow_id uuid, step text, attempt int, handler text, timeout_seconds float, commit_each boolean,
  input jsonb, parents jsonb, checkpoint jsonb, lease_until timestamptz, template_id int,
  waited_seconds float);
